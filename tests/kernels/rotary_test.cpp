// SPDX-License-Identifier: Apache-2.0
#include "kernels/rotary.hpp"
#include "tests/kernels/fixture.hpp"

#include "tests/support/doctest.hpp"

namespace troupe::kernels::testing {

TEST_CASE("apply_rotary rotates the halves of each head by position") {
  thread_pool pool(2);
  for (const std::int64_t E : {2, 8, 64, 72}) {
    constexpr std::int64_t H = 3;
    const std::vector<std::int32_t> positions{0, 5, 5, 31};
    const auto table = make_rotary_table(32, E, 10000);
    REQUIRE(table.half_width == E / 2);
    const floats x = noise(4 * H * E, 1);
    floats y = x;
    apply_rotary(view(y, H * E), H, positions.data(), table, rotation::forward,
                 pool);
    doubles expected(x.size());
    for (std::int64_t t = 0; t < 4; ++t)
      for (std::int64_t h = 0; h < H; ++h)
        for (std::int64_t i = 0; i < E / 2; ++i) {
          const auto low = static_cast<std::size_t>((t * H + h) * E + i);
          const auto high = low + static_cast<std::size_t>(E / 2);
          const double angle = positions[static_cast<std::size_t>(t)]
                               * std::pow(10000, -2.0 * static_cast<double>(i)
                                                   / static_cast<double>(E));
          expected[low] = double{x[low]} * std::cos(angle)
                          - double{x[high]} * std::sin(angle);
          expected[high] = double{x[high]} * std::cos(angle)
                           + double{x[low]} * std::sin(angle);
        }
    CHECK(error_of(y, expected) < 1e-6);
    apply_rotary(view(y, H * E), H, positions.data(), table, rotation::inverse,
                 pool);
    CHECK(error_of(y, widen(x)) < 1e-6);
    CHECK(is_same_everywhere([&] {
      floats z = x;
      apply_rotary(view(z, H * E), H, positions.data(), table,
                   rotation::forward, pool);
      return z;
    }));
  }
}

TEST_CASE("apply_rotary leaves the end of a head that is not rotated") {
  thread_pool pool(1);
  constexpr std::int64_t H = 2, E = 20, R = 6;
  const std::vector<std::int32_t> positions{3, 1};
  const auto table = make_rotary_table(4, R, 10000);
  const floats x = noise(2 * H * E, 1);
  floats y = x, alone(2 * H * R);
  for (std::size_t head = 0; head < 2 * H; ++head)
    std::copy_n(x.begin() + static_cast<std::ptrdiff_t>(head * E), R,
                alone.begin() + static_cast<std::ptrdiff_t>(head * R));
  apply_rotary(view(y, H * E), H, positions.data(), table, rotation::forward,
               pool);
  apply_rotary(view(alone, H * R), H, positions.data(), table,
               rotation::forward, pool);
  floats expected = x;
  for (std::size_t head = 0; head < 2 * H; ++head)
    std::copy_n(alone.begin() + static_cast<std::ptrdiff_t>(head * R), R,
                expected.begin() + static_cast<std::ptrdiff_t>(head * E));
  CHECK(is_same(y, expected));
}

TEST_CASE("a factor of a rotary table scales its rotation") {
  rotary_table table;
  const std::vector<double> frequencies{0.5, 0.25};
  append_position(table, frequencies, 3);
  append_position(table, frequencies, 3);
  REQUIRE(table.half_width == 2);
  CHECK(table.cos
        == std::vector<float>{3, 3, static_cast<float>(3 * std::cos(0.5)),
                              static_cast<float>(3 * std::cos(0.25))});
  CHECK(table.sin[3] == static_cast<float>(3 * std::sin(0.25)));
}

} // namespace troupe::kernels::testing
