// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/families.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace troupe::runtime::model {

namespace {

using protocols::errc;

constexpr std::array<std::pair<std::string_view, rope_kind>, 5> kinds{{
  {"default", rope_kind::standard},
  {"linear", rope_kind::linear},
  {"dynamic", rope_kind::dynamic},
  {"llama3", rope_kind::llama3},
  {"yarn", rope_kind::yarn},
}};

/// transformers 4 writes rope_scaling, 5 rope_parameters.
std::string block_of(const config_file& file, const rope_keys& keys) {
  if (!keys.block.empty())
    return keys.block;
  return file["rope_scaling"].is_null() ? "rope_parameters" : "rope_scaling";
}

rope_kind read_kind(const config_file& file, const std::string& block) {
  const auto& value = file[block];
  if (!value.is_null() && !value.is_object())
    file.refuse(errc::model_unreadable, block, "null or an object is needed");
  const auto key =
    block + (file[block + "/rope_type"].is_null() ? "/type" : "/rope_type");
  if (file[key].is_null())
    return rope_kind::standard;
  std::string known;
  for (const auto& [name, kind] : kinds) {
    if (file[key] == name)
      return kind;
    known += (known.empty() ? "" : ", ") + std::string{name};
  }
  file.refuse(errc::model_unsupported, key, "supported are " + known);
}

/// 0.1 m ln(s) + 1. Source: Peng et al., YaRN, eq. 22.
double yarn_magnitude(double factor, double m) {
  return factor <= 1 ? 1 : 0.1 * m * std::log(factor) + 1;
}

void read_yarn(const config_file& file, const std::string& block,
               rope_config& rope) {
  const auto at = [&](const char* key, double absent) {
    return file.positive(block + "/" + key, absent);
  };
  rope.beta_fast = at("beta_fast", 32);
  rope.beta_slow = at("beta_slow", 1);
  rope.truncates = file.flag(block + "/truncate", true);
  double magnitude = yarn_magnitude(rope.factor, 1);
  if (!file[block + "/mscale"].is_null()
      && !file[block + "/mscale_all_dim"].is_null())
    magnitude = yarn_magnitude(rope.factor, at("mscale", 1))
                / yarn_magnitude(rope.factor, at("mscale_all_dim", 1));
  rope.attention_factor = at("attention_factor", magnitude);
}

std::int64_t stretched(std::int64_t positions, double factor) {
  return static_cast<std::int64_t>(static_cast<double>(positions)
                                   * std::max(factor, 1.0));
}

} // namespace

rope_config read_rope(const config_file& file, const rope_keys& keys,
                      std::int64_t head_width, std::int64_t& num_positions) {
  const auto block = block_of(file, keys);
  const auto at = [&](const char* key) { return block + "/" + key; };
  // In the object, or beside it.
  const auto number = [&](const char* key, const std::string& beside,
                          double absent) {
    return file.positive(file[at(key)].is_null() ? beside : at(key), absent);
  };
  rope_config rope;
  rope.kind = read_kind(file, block);
  rope.theta = number("rope_theta", keys.theta, keys.default_theta);
  const double share =
    number("partial_rotary_factor", keys.share, keys.default_share);
  rope.width =
    static_cast<std::int64_t>(share * static_cast<double>(head_width));
  if (rope.width < 2 || rope.width > head_width || rope.width % 2 != 0)
    file.refuse(errc::model_unsupported,
                file[at("partial_rotary_factor")].is_null()
                  ? keys.share
                  : at("partial_rotary_factor"),
                "of head_dim, " + std::to_string(head_width)
                  + ", an even number from 2 is to be rotated, not "
                  + std::to_string(rope.width));
  if (rope.kind == rope_kind::standard)
    return rope;

  rope.original_positions = num_positions;
  if (rope.kind == rope_kind::llama3 || rope.kind == rope_kind::yarn)
    rope.original_positions =
      file.count(at("original_max_position_embeddings"), num_positions);
  rope.factor =
    rope.kind == rope_kind::yarn ? file.positive(
      at("factor"), static_cast<double>(num_positions)
                      / static_cast<double>(rope.original_positions))
                                 : file.positive(at("factor"));
  switch (rope.kind) {
  case rope_kind::llama3:
    rope.low_frequency_factor = file.positive(at("low_freq_factor"));
    rope.high_frequency_factor = file.positive(at("high_freq_factor"));
    if (rope.high_frequency_factor <= rope.low_frequency_factor)
      file.refuse(errc::model_unreadable, at("high_freq_factor"),
                  "it must be above low_freq_factor, "
                    + file[at("low_freq_factor")].dump());
    break;
  case rope_kind::yarn:
    read_yarn(file, block, rope);
    num_positions =
      std::max(num_positions, stretched(rope.original_positions, rope.factor));
    break;
  default: num_positions = stretched(num_positions, rope.factor); break;
  }
  return rope;
}

} // namespace troupe::runtime::model
