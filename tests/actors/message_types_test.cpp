// SPDX-License-Identifier: Apache-2.0
//
// CAF 0.17.6 corrupts floating-point numbers on the wire, so no message may
// hold one at any depth. The check is at compile time: an inspector whose
// result type says what it was shown.
#include "actors/real.hpp"
#include "protocols/message_types.hpp"

#include <caf/meta/annotation.hpp>

#include <type_traits>
#include <utility>

#include "tests/support/doctest.hpp"

TEST_SUITE_BEGIN("protocols.message_types");

namespace {

struct float_finder;

template <class T>
struct has_float;

/// `inspect` of a struct returns what this returns for its fields.
struct float_finder {
  template <class... Fields>
  std::bool_constant<(has_float<std::decay_t<Fields>>::value || ...)>
  operator()(Fields&&...) const;
};

template <class T>
concept inspected = requires(float_finder f, T x) {
  inspect(f, x);
};

template <class T>
struct has_float : std::is_floating_point<T> {
  static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>,
                "a kind of field that this check doesn't know");
};
template <class T>
requires caf::meta::is_annotation<T>::value struct has_float<T>
  : std::false_type {
};
template <>
struct has_float<std::string> : std::false_type {};
template <>
struct has_float<caf::strong_actor_ptr> : std::false_type {};
template <class T>
struct has_float<std::vector<T>> : has_float<T> {};
template <class T>
requires(
  inspected<
    T> && !std::is_same_v<T, caf::strong_actor_ptr> && !caf::meta::is_annotation<T>::value) struct
  has_float<T>
  : decltype(inspect(std::declval<float_finder&>(), std::declval<T&>())) {
};

using block = caf::id_block::troupe;
constexpr std::size_t num_types = block::end - block::begin;

template <std::size_t... Offsets>
constexpr std::size_t num_with_float(std::index_sequence<Offsets...>) {
  return (
    std::size_t{0} + ...
    + has_float<typename caf::type_by_id<block::begin + Offsets>::type>::value);
}

} // namespace

namespace troupe::tests {

struct inner {
  std::int32_t whole = 0;
  float broken = 0;
};
struct outer {
  std::string name;
  std::vector<inner> inners;
};
TROUPE_FIELDS(inner, whole, broken)
TROUPE_FIELDS(outer, name, inners)

} // namespace troupe::tests

// The check itself can fail, at any depth.
static_assert(has_float<troupe::tests::inner>::value);
static_assert(has_float<troupe::tests::outer>::value);
static_assert(!has_float<troupe::protocols::metric>::value);

TEST_CASE("no message has a floating-point field at any depth") {
  static_assert(num_types > 60);
  static_assert(num_with_float(std::make_index_sequence<num_types>{}) == 0);
}

TEST_CASE("a real keeps the bits of its double") {
  for (const double value : {0.1, -0.0, 1e300, 5e-324})
    CHECK(troupe::actors::value_of(troupe::actors::to_real(value)) == value);
}

TEST_SUITE_END();
