// SPDX-License-Identifier: Apache-2.0
//
// A sharding context decides how the parameters of the modules built in it are
// spread over the ranks of a group. It is handed down explicitly: a module
// gets the context's factory in its constructor and has no other way to make a
// parameter, whatever its type and whenever that type became known (Z1).
// One rank now: it keeps the whole tensor.
#pragma once

#include "runtime/shard/parameter.hpp"

#include <cstdint>
#include <memory>

namespace troupe::runtime::shard {

/// The ranks among which parameters are spread, and which one this is.
struct rank_group {
  std::int64_t rank = 0;
  std::int64_t world_size = 1;
};

/// Where the values of new parameters come from: nothing (fresh_source), or
/// files (runtime/model/file_source.hpp).
class parameter_source {
public:
  virtual ~parameter_source() = default;

  /// Returns a float32, contiguous CPU tensor of the spec's shape; its memory
  /// is writable and nobody else's.
  /// Errors: those of the source (model_mismatch, model_unreadable).
  virtual torch::Tensor make(const parameter_spec& spec) = 0;
};

/// Values from a counter-based generator by (seed, name, element): the same on
/// every machine, whatever else is built.
/// Numerics: `normal` is the scaled sum of eight 16-bit uniform numbers, which
/// needs no libm; Differs: tails end at 4.9 standard deviations.
class fresh_source : public parameter_source {
public:
  explicit fresh_source(std::uint64_t seed) : seed_(seed) {}
  torch::Tensor make(const parameter_spec& spec) override;

private:
  std::uint64_t seed_;
};

class sharding_context;

class parameter_factory {
public:
  std::shared_ptr<parameter> make_parameter(parameter_spec spec);
  std::shared_ptr<parameter> make_buffer(parameter_spec spec);

private:
  friend class sharding_context;
  explicit parameter_factory(parameter_source& source) : source_(source) {}

  std::shared_ptr<parameter> make(parameter_spec spec, parameter_kind kind);

  parameter_source& source_;
};

class sharding_context {
public:
  /// `source` outlives the context.
  /// Errors: unsupported if world_size is not 1.
  sharding_context(rank_group group, parameter_source& source);
  sharding_context(const sharding_context&) = delete;
  sharding_context& operator=(const sharding_context&) = delete;

  [[nodiscard]] const rank_group& group() const { return group_; }
  [[nodiscard]] parameter_factory& factory() { return factory_; }

private:
  rank_group group_;
  parameter_factory factory_;
};

/// Refuses groups that we cannot serve yet.
/// Errors: unsupported, naming the world size.
void require_one_rank(const rank_group& group);

} // namespace troupe::runtime::shard
