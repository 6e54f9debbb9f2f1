// SPDX-License-Identifier: Apache-2.0
#include "runtime/tokenizer/read_steps.hpp"

namespace troupe::runtime::tokenizer {

namespace {

split_behavior read_behavior(const node& from) {
  const auto name = from.text();
  if (name == "Isolated")
    return split_behavior::isolated;
  if (name == "Removed")
    return split_behavior::removed;
  if (name == "MergedWithPrevious")
    return split_behavior::merged_with_previous;
  if (name == "MergedWithNext")
    return split_behavior::merged_with_next;
  if (name == "Contiguous")
    return split_behavior::contiguous;
  from.unsupported("are Isolated, Removed, MergedWithPrevious, MergedWithNext, "
                   "Contiguous");
}

metaspace_step read_metaspace(const node& from) {
  metaspace_step out;
  out.replacement = read_character(from.at("replacement"));
  out.splits = from.flag_or("split", true);
  // Older files know only add_prefix_space.
  if (!from.flag_or("add_prefix_space", true))
    out.prepends = prepend_scheme::never;
  if (const auto scheme = from.find("prepend_scheme")) {
    const auto name = scheme->text();
    if (name == "first")
      out.prepends = prepend_scheme::first;
    else if (name == "never")
      out.prepends = prepend_scheme::never;
    else if (name == "always")
      out.prepends = prepend_scheme::always;
    else
      scheme->unsupported("are always, first, never");
  }
  return out;
}

} // namespace

void read_pre_tokenizer(const node& from,
                        std::vector<pre_tokenizer_step>& out) {
  const auto type = from.at("type");
  const auto name = type.text();
  if (name == "ByteLevel") {
    out.emplace_back(byte_level_step{from.flag_or("add_prefix_space", true),
                                     from.flag_or("use_regex", true)});
  } else if (name == "Digits") {
    out.emplace_back(digits_step{from.flag_or("individual_digits", false)});
  } else if (name == "Split") {
    out.emplace_back(split_step{read_pattern(from.at("pattern")),
                                read_behavior(from.at("behavior")),
                                from.flag_or("invert", false)});
  } else if (name == "Whitespace") {
    out.emplace_back(whitespace_step{});
  } else if (name == "WhitespaceSplit") {
    out.emplace_back(whitespace_split_step{});
  } else if (name == "Punctuation") {
    const auto behavior = from.find("behavior");
    out.emplace_back(punctuation_step{behavior ? read_behavior(*behavior)
                                               : split_behavior::isolated});
  } else if (name == "Metaspace") {
    out.emplace_back(read_metaspace(from));
  } else if (name == "Sequence") {
    for (const auto& part : from.at("pretokenizers").list())
      read_pre_tokenizer(part, out);
  } else {
    type.unsupported("are null, ByteLevel, Digits, Split, Whitespace, "
                     "WhitespaceSplit, Punctuation, Metaspace, Sequence");
  }
}

} // namespace troupe::runtime::tokenizer
