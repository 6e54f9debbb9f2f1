// SPDX-License-Identifier: Apache-2.0
#include "runtime/tokenizer/tokenizer_spec.hpp"

#include "protocols/failure.hpp"
#include "runtime/tokenizer/read_steps.hpp"

#include <nlohmann/json.hpp>

#include <fstream>

namespace troupe::runtime::tokenizer {

namespace fs = std::filesystem;
namespace dom = simdjson::dom;
using protocols::errc;
using protocols::failure;

void refuse_file(const fs::path& file, const std::string& reason) {
  throw failure{errc::tokenizer_unreadable, file.string() + ": " + reason};
}

void refuse_component(const fs::path& file, const std::string& component,
                      const std::string& value, const std::string& allowed) {
  throw failure{errc::tokenizer_unsupported, file.string() + ": " + component
                                               + " is " + value + "; supported "
                                               + allowed};
}

namespace {

added_token read_added_token(const node& from) {
  added_token out;
  out.id = from.at("id").token_id();
  out.text = from.at("content").text();
  out.is_special = from.flag_or("special", false);
  out.is_normalized = from.flag_or("normalized", !out.is_special);
  out.strips_left = from.flag_or("lstrip", false);
  out.strips_right = from.flag_or("rstrip", false);
  out.is_single_word = from.flag_or("single_word", false);
  return out;
}

void read_merges(const node& from, bpe_spec& out) {
  dom::array merges;
  if (from.value().get(merges) != simdjson::SUCCESS)
    from.wrong_type("a list");
  out.merges.reserve(merges.size());
  for (auto merge : merges) {
    std::string_view left;
    std::string_view right;
    dom::array pair;
    if (merge.get(left) == simdjson::SUCCESS) { // "left right"
      const auto space = left.find(' ');
      if (space == left.npos || left.find(' ', space + 1) != left.npos)
        from.wrong_type("a list of \"left right\" or pairs");
      right = left.substr(space + 1);
      left = left.substr(0, space);
    } else if (merge.get(pair) != simdjson::SUCCESS || pair.size() != 2
               || pair.at(0).get(left) != simdjson::SUCCESS
               || pair.at(1).get(right) != simdjson::SUCCESS) {
      from.wrong_type("a list of \"left right\" or pairs");
    }
    out.merges.emplace_back(left, right);
  }
}

void read_bpe(const node& from, const fs::path& file, bpe_spec& out) {
  if (const auto type = from.find("type"); type && type->text() != "BPE")
    type->unsupported("is BPE");
  for (const auto* key : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (const auto affix = from.find(key); affix && !affix->text().empty())
      affix->unsupported("is null");
  if (const auto dropout = from.find("dropout"))
    dropout->unsupported("is null");
  out.falls_back_to_bytes = from.flag_or("byte_fallback", false);
  out.ignores_merges = from.flag_or("ignore_merges", false);
  out.fuses_unk = from.flag_or("fuse_unk", false);
  if (const auto unk = from.find("unk_token"))
    out.unk_token = unk->text();
  const auto vocab = from.at("vocab").object();
  out.vocab.reserve(vocab.size());
  for (const auto& token : vocab) {
    std::int64_t id = 0;
    if (token.value.get(id) != simdjson::SUCCESS || id < 0
        || id >= node::max_id) // as token_id(), at less cost
      (void)node{file, token.value, "model.vocab." + std::string{token.key}}
        .token_id();
    out.vocab.emplace_back(token.key, static_cast<std::int32_t>(id));
  }
  read_merges(from.at("merges"), out);
}

dom::element parse(const fs::path& file, dom::parser& parser) {
  dom::element out;
  const auto error = parser.load(file.string()).get(out);
  if (error == simdjson::IO_ERROR)
    refuse_file(file, "no such file, or not readable");
  if (error != simdjson::SUCCESS)
    refuse_file(file,
                std::string{"no JSON: "} + simdjson::error_message(error));
  return out;
}

/// Takes whole numbers beyond 64 bits, too, as reals: transformers writes
/// model_max_length 10^30 for "no limit", which simdjson refuses.
dom::element parse_config(const fs::path& file, dom::parser& parser) {
  std::ifstream in{file};
  const auto content = nlohmann::json::parse(in, nullptr, false);
  dom::element out;
  if (content.is_discarded()
      || parser.parse(content.dump()).get(out) != simdjson::SUCCESS)
    return parse(file, parser); // whose error says why
  return out;
}

} // namespace

tokenizer_spec read_tokenizer_spec(const fs::path& file) {
  const auto parser = std::make_shared<dom::parser>();
  tokenizer_spec out;
  out.file = file;
  out.memory = parser;
  const node root{out.file, parse(file, *parser), ""};
  read_bpe(root.at("model"), out.file, out.bpe);
  if (const auto added = root.find("added_tokens"))
    for (const auto& token : added->list())
      out.added.push_back(read_added_token(token));
  if (const auto normalizer = root.find("normalizer"))
    read_normalizer(*normalizer, out.normalizer);
  if (const auto pre_tokenizer = root.find("pre_tokenizer"))
    read_pre_tokenizer(*pre_tokenizer, out.pre_tokenizer);
  if (const auto post_processor = root.find("post_processor"))
    read_post_processor(*post_processor, out.post_processor);
  if (const auto decoder = root.find("decoder"))
    read_decoder(*decoder, out.decoder.emplace());
  return out;
}

special_names read_special_names(const fs::path& file) {
  special_names out;
  if (!fs::exists(file))
    return out;
  dom::parser parser;
  const node root{file, parse_config(file, parser), ""};
  const auto read = [&](const char* key, std::optional<std::string>& name) {
    const auto found = root.find(key);
    if (!found)
      return;
    const auto content =
      found->value().is_object() ? std::optional{found->at("content")} : found;
    name = std::string{content->text()};
  };
  read("bos_token", out.bos);
  read("eos_token", out.eos);
  read("pad_token", out.pad);
  read("unk_token", out.unk);
  return out;
}

} // namespace troupe::runtime::tokenizer
