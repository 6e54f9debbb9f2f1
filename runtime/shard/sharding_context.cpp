// SPDX-License-Identifier: Apache-2.0
#include "runtime/shard/sharding_context.hpp"

#include "kernels/random.hpp"
#include "protocols/failure.hpp"

#include <cmath>
#include <string_view>

namespace troupe::runtime::shard {

namespace {

/// FNV-1a: a name's coordinate of random numbers.
std::uint64_t hash_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : name) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3U;
  }
  return hash;
}

std::uint32_t low(std::uint64_t value) {
  return static_cast<std::uint32_t>(value);
}

std::uint32_t high(std::uint64_t value) {
  return static_cast<std::uint32_t>(value >> 32U);
}

void fill_normal(float* values, std::int64_t n, std::uint64_t seed,
                 const parameter_spec& spec) {
  // Mean and standard deviation of a sum of eight numbers in [0, 65535].
  constexpr double mean = 8 * 32767.5;
  const double scale =
    spec.deviation / std::sqrt(8 * (65536.0 * 65536.0 - 1) / 12);
  const auto hash = hash_of("initialise " + spec.name);
  for (std::int64_t i = 0; i < n; ++i) {
    const auto at = static_cast<std::uint64_t>(i);
    const auto words = kernels::philox(
      {low(at), high(at), low(hash), high(hash)}, {low(seed), high(seed)});
    std::uint32_t sum = 0;
    for (const auto word : words)
      sum += (word & 0xffffU) + (word >> 16U);
    values[i] = static_cast<float>((sum - mean) * scale);
  }
}

} // namespace

parameter::parameter(parameter_spec spec, parameter_kind kind,
                     torch::Tensor tensor)
  : spec_(std::move(spec)), kind_(kind), identity_(next_object_id()),
    tensor_(std::move(tensor)) {
  tensor_.set_requires_grad(kind == parameter_kind::trained);
}

torch::Tensor fresh_source::make(const parameter_spec& spec) {
  auto tensor = torch::empty(spec.shape, torch::kFloat32);
  switch (spec.fill) {
  case initialisation::ones: tensor.fill_(1); break;
  case initialisation::zeros: tensor.zero_(); break;
  case initialisation::normal:
    fill_normal(tensor.mutable_data_ptr<float>(), tensor.numel(), seed_, spec);
    break;
  }
  return tensor;
}

std::shared_ptr<parameter>
parameter_factory::make_parameter(parameter_spec spec) {
  return make(std::move(spec), parameter_kind::trained);
}

std::shared_ptr<parameter> parameter_factory::make_buffer(parameter_spec spec) {
  return make(std::move(spec), parameter_kind::buffer);
}

std::shared_ptr<parameter> parameter_factory::make(parameter_spec spec,
                                                   parameter_kind kind) {
  auto tensor = source_.make(spec);
  return std::shared_ptr<parameter>(
    new parameter{std::move(spec), kind, std::move(tensor)});
}

sharding_context::sharding_context(rank_group group, parameter_source& source)
  : group_(group), factory_(source) {
  require_one_rank(group);
}

void require_one_rank(const rank_group& group) {
  if (group.world_size != 1 || group.rank != 0)
    throw protocols::failure{
      protocols::errc::unsupported,
      "a model over several ranks is not supported yet: rank "
        + std::to_string(group.rank) + " of world size "
        + std::to_string(group.world_size) + "; set placement.ranks to 1"};
}

} // namespace troupe::runtime::shard
