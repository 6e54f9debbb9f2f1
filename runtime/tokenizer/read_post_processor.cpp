// SPDX-License-Identifier: Apache-2.0
#include "runtime/tokenizer/read_steps.hpp"

namespace troupe::runtime::tokenizer {

namespace {

std::vector<std::int32_t> ids_of(const node& tokens, const node& name) {
  std::vector<std::int32_t> out;
  for (const auto& id :
       tokens.at(std::string{name.text()}.c_str()).at("ids").list())
    out.push_back(id.token_id());
  return out;
}

template_step read_template(const node& from) {
  template_step out;
  bool is_before = true;
  const auto single = from.at("single");
  for (const auto& piece : single.list()) {
    if (const auto text = piece.find("Sequence")) {
      if (!is_before || text->at("id").text() != "A")
        single.unsupported("is a template with one A");
      is_before = false;
      continue;
    }
    const auto ids =
      ids_of(from.at("special_tokens"), piece.at("SpecialToken").at("id"));
    auto& to = is_before ? out.before : out.after;
    to.insert(to.end(), ids.begin(), ids.end());
  }
  if (is_before)
    single.unsupported("is a template with one A");
  return out;
}

/// Reads ["[CLS]", 101].
std::int32_t read_named_id(const node& from) {
  const auto pair = from.list();
  if (pair.size() != 2)
    from.wrong_type("a token and its id");
  return pair[1].token_id();
}

} // namespace

void read_post_processor(const node& from,
                         std::vector<post_processor_step>& out) {
  const auto type = from.at("type");
  const auto name = type.text();
  const auto read_trim = [&] {
    if (from.flag_or("trim_offsets", true))
      out.emplace_back(trim_spans_step{from.flag_or("add_prefix_space", true)});
  };
  if (name == "TemplateProcessing") {
    out.emplace_back(read_template(from));
  } else if (name == "ByteLevel") {
    read_trim();
  } else if (name == "RobertaProcessing" || name == "BertProcessing") {
    if (name == "RobertaProcessing")
      read_trim();
    out.emplace_back(template_step{{read_named_id(from.at("cls"))},
                                   {read_named_id(from.at("sep"))}});
  } else if (name == "Sequence") {
    for (const auto& part : from.at("processors").list())
      read_post_processor(part, out);
  } else {
    type.unsupported("are null, ByteLevel, TemplateProcessing, "
                     "RobertaProcessing, BertProcessing, Sequence");
  }
}

} // namespace troupe::runtime::tokenizer
