// SPDX-License-Identifier: Apache-2.0
#include "runtime/tokenizer/read_steps.hpp"

namespace troupe::runtime::tokenizer {

void read_decoder(const node& from, std::vector<decoder_step>& out) {
  const auto type = from.at("type");
  const auto name = type.text();
  if (name == "ByteLevel") {
    out.emplace_back(byte_level_decode{});
  } else if (name == "ByteFallback") {
    out.emplace_back(byte_fallback_decode{});
  } else if (name == "Fuse") {
    out.emplace_back(fuse_decode{});
  } else if (name == "Replace") {
    out.emplace_back(read_replace(from));
  } else if (name == "Strip") {
    out.emplace_back(strip_decode{read_character(from.at("content")),
                                  from.at("start").count(),
                                  from.at("stop").count()});
  } else if (name == "Metaspace") {
    bool drops_first = from.flag_or("add_prefix_space", true);
    if (const auto scheme = from.find("prepend_scheme"))
      drops_first = scheme->text() != "never";
    out.emplace_back(
      metaspace_decode{read_character(from.at("replacement")), drops_first});
  } else if (name == "Sequence") {
    for (const auto& part : from.at("decoders").list())
      read_decoder(part, out);
  } else {
    type.unsupported("are null, ByteLevel, ByteFallback, Fuse, Replace, Strip, "
                     "Metaspace, Sequence");
  }
}

} // namespace troupe::runtime::tokenizer
