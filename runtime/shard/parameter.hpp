// SPDX-License-Identifier: Apache-2.0
//
// A parameter or buffer of a module. Only a parameter_factory makes one, so
// every one of them has been sharded by the context that was open (Z1).
#pragma once

#include "runtime/shard/object_id.hpp"

#include <torch/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::runtime::shard {

class parameter_factory;

/// How a tensor made from nothing is filled.
enum class initialisation : std::uint8_t {
  normal, ///< mean 0, standard deviation parameter_spec::deviation
  ones,
  zeros,
};

/// What the factory is asked for.
struct parameter_spec {
  std::string name;                ///< full, as in the files: model.norm.weight
  std::vector<std::int64_t> shape; ///< of the whole tensor, on all ranks
  initialisation fill = initialisation::normal;
  double deviation = 0.02;
};

enum class parameter_kind : std::uint8_t { trained, buffer };

class parameter {
public:
  parameter(const parameter&) = delete;
  parameter& operator=(const parameter&) = delete;

  /// Returns the name that it was made under; what a model calls it, its
  /// named_parameters() say.
  [[nodiscard]] const std::string& name() const { return spec_.name; }

  /// Returns the shape of the whole tensor.
  [[nodiscard]] const std::vector<std::int64_t>& shape() const {
    return spec_.shape;
  }

  [[nodiscard]] parameter_kind kind() const { return kind_; }
  [[nodiscard]] object_id identity() const { return identity_; }

  /// Returns this rank's part: float32, contiguous, on the CPU; a leaf that
  /// requires a gradient if it is trained. With one rank, the whole.
  [[nodiscard]] const torch::Tensor& tensor() const { return tensor_; }

private:
  friend class parameter_factory;
  parameter(parameter_spec spec, parameter_kind kind, torch::Tensor tensor);

  parameter_spec spec_;
  parameter_kind kind_;
  object_id identity_;
  torch::Tensor tensor_;
};

} // namespace troupe::runtime::shard
