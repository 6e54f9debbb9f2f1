// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/file_layout.hpp"

#include <array>

namespace troupe::runtime::model {

namespace {

/// Takes `prefix` and a dot off the front, if they are there.
bool take(std::string_view& name, std::string_view prefix) {
  if (!name.starts_with(prefix) || name.size() <= prefix.size()
      || name[prefix.size()] != '.')
    return false;
  name.remove_prefix(prefix.size() + 1);
  return true;
}

} // namespace

file_place place_of(const file_layout* layout, std::string_view parameter,
                    std::int64_t head_width) {
  file_place place{.name = std::string{parameter}};
  if (layout == nullptr)
    return place;
  auto rest = parameter;
  if (take(rest, "lm_head")) {
    place.name = std::string{layout->head} + "." + std::string{rest};
    return place;
  }
  if (!take(rest, "model"))
    return place;
  std::string front = std::string{layout->body} + ".";
  if (take(rest, "layers")) {
    const auto number = rest.substr(0, rest.find('.'));
    rest.remove_prefix(number.size() + 1);
    front += std::string{layout->layers} + "." + std::string{number} + ".";
  }
  for (const auto& rule : layout->rules) {
    auto end = rest;
    if (!take(end, rule.ours))
      continue;
    place.name = front + std::string{rule.theirs} + "." + std::string{end};
    place.is_turned = rule.is_turned && end == "weight";
    place.part = rule.part;
    place.num_parts = rule.num_parts;
    place.block_rows = rule.is_by_head ? head_width : 0;
    return place;
  }
  place.name = front + std::string{rest};
  return place;
}

bool is_derived_tensor(std::string_view name) {
  constexpr std::array<std::string_view, 5> ends{
    "rotary_emb.inv_freq", ".attn.bias", ".attn.masked_bias", ".attention.bias",
    ".attention.masked_bias"};
  for (const auto end : ends)
    if (name.ends_with(end))
      return true;
  return false;
}

} // namespace troupe::runtime::model
