// SPDX-License-Identifier: Apache-2.0
#include "runtime/tokenizer/read_steps.hpp"
#include "runtime/tokenizer/utf8.hpp"

namespace troupe::runtime::tokenizer {

text_pattern read_pattern(const node& from) {
  if (const auto regex = from.find("Regex"))
    return {std::string{regex->text()}, true, regex->path()};
  const auto literal = from.at("String");
  return {std::string{literal.text()}, false, literal.path()};
}

replace_step read_replace(const node& from) {
  return {read_pattern(from.at("pattern")),
          std::string{from.at("content").text()}};
}

std::string read_character(const node& from) {
  auto rest = from.text();
  if (rest.empty() || (next_character(rest), !rest.empty()))
    from.wrong_type("one character");
  return std::string{from.text()};
}

void read_normalizer(const node& from, std::vector<normalizer_step>& out) {
  const auto type = from.at("type");
  const auto name = type.text();
  if (name == "NFC")
    out.emplace_back(form_step{normal_form::nfc});
  else if (name == "NFD")
    out.emplace_back(form_step{normal_form::nfd});
  else if (name == "NFKC")
    out.emplace_back(form_step{normal_form::nfkc});
  else if (name == "NFKD")
    out.emplace_back(form_step{normal_form::nfkd});
  else if (name == "Lowercase")
    out.emplace_back(lowercase_step{});
  else if (name == "StripAccents")
    out.emplace_back(strip_accents_step{});
  else if (name == "Replace")
    out.emplace_back(read_replace(from));
  else if (name == "Prepend") {
    const auto text = from.at("prepend");
    if (text.text().empty())
      text.unsupported("is a text that is not empty");
    out.emplace_back(prepend_step{std::string{text.text()}});
  } else if (name == "Strip")
    out.emplace_back(
      strip_step{from.at("strip_left").flag(), from.at("strip_right").flag()});
  else if (name == "ByteLevel")
    out.emplace_back(spell_bytes_step{});
  else if (name == "Sequence")
    for (const auto& part : from.at("normalizers").list())
      read_normalizer(part, out);
  else
    type.unsupported("are null, NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, "
                     "Replace, Prepend, Strip, ByteLevel, Sequence");
}

} // namespace troupe::runtime::tokenizer
