// SPDX-License-Identifier: Apache-2.0
#include "runtime/tokenizer/tokenizer.hpp"

#include "protocols/failure.hpp"
#include "runtime/tokenizer/added_tokens.hpp"
#include "runtime/tokenizer/byte_alphabet.hpp"
#include "runtime/tokenizer/byte_pair_model.hpp"
#include "runtime/tokenizer/normalizer.hpp"
#include "runtime/tokenizer/pre_tokenizer.hpp"
#include "runtime/tokenizer/utf8.hpp"

#include <algorithm>
#include <utility>

namespace troupe::runtime::tokenizer {

namespace fs = std::filesystem;

namespace {

token_table build_vocabulary(const tokenizer_spec& spec) {
  std::size_t num_bytes = 0;
  for (const auto& [spelling, id] : spec.bpe.vocab)
    num_bytes += spelling.size();
  token_table out{spec.bpe.vocab.size() + spec.added.size(), num_bytes};
  const auto add = [&](std::string_view spelling, std::int32_t id,
                       const char* where) {
    const auto added = out.add(spelling, id);
    if (added == token_table::added::id_taken
        || added == token_table::added::spelling_taken)
      refuse_file(
        spec.file,
        std::string{where} + " gives id " + std::to_string(id) + " to "
          + std::string{spelling} + ", but "
          + (added == token_table::added::id_taken
               ? "that id is of " + std::string{*out.spelling(id)}
               : "that token has id " + std::to_string(*out.find(spelling))));
  };
  for (const auto& [spelling, id] : spec.bpe.vocab)
    add(spelling, id, "model.vocab");
  for (const auto& token : spec.added)
    add(token.text, token.id, "added_tokens");
  return out;
}

/// Returns the added tokens to look for before or after normalisation.
std::vector<added_token> select(const tokenizer_spec& spec,
                                const normalizer& forms, bool is_normalized) {
  std::vector<added_token> out;
  for (const auto& token : spec.added)
    if (token.is_normalized == is_normalized) {
      out.push_back(token);
      if (is_normalized)
        out.back().text = forms.normalize(token.text);
    }
  return out;
}

} // namespace

struct tokenizer::content {
  explicit content(const tokenizer_spec& spec)
    : vocabulary(build_vocabulary(spec)), forms(spec.normal_forms),
      before_forms(select(spec, forms, false)),
      after_forms(select(spec, forms, true)),
      words(spec.pre_tokenizer, spec.file),
      model(spec.bpe, vocabulary, spec.file),
      template_before(spec.template_before),
      template_after(spec.template_after),
      is_special(static_cast<std::size_t>(vocabulary.end_id())) {
    for (const auto& token : spec.added)
      is_special[static_cast<std::size_t>(token.id)] = token.is_special;
    bytes_begin.reserve(is_special.size() + 1);
    for (std::int32_t id = 0; id < vocabulary.end_id(); ++id) {
      bytes_begin.push_back(bytes.size());
      const auto spelling = vocabulary.spelling(id).value_or("");
      // A token that is not all of the alphabet stands for itself.
      const auto unspelled = unspell_bytes(spelling);
      bytes += unspelled ? std::string_view{*unspelled} : spelling;
    }
    bytes_begin.push_back(bytes.size());
  }

  token_table vocabulary;
  normalizer forms;
  added_token_finder before_forms;
  added_token_finder after_forms;
  pre_tokenizer words;
  byte_pair_model model;
  std::vector<std::int32_t> template_before, template_after;
  std::vector<bool> is_special; ///< by id
  std::string bytes;            ///< of all tokens, by id
  std::vector<std::size_t> bytes_begin;
  special_ids specials;
};

tokenizer::tokenizer(std::shared_ptr<const content> made)
  : content_(std::move(made)) {}

tokenizer tokenizer::load(const fs::path& file_or_folder) {
  const auto file = fs::is_directory(file_or_folder)
                      ? file_or_folder / "tokenizer.json"
                      : file_or_folder;
  const auto made = std::make_shared<content>(read_tokenizer_spec(file));
  const auto beside = file.parent_path() / "tokenizer_config.json";
  const auto names = read_special_names(beside);
  const auto resolve = [&](const std::optional<std::string>& name,
                           const char* key) -> std::optional<std::int32_t> {
    if (!name)
      return std::nullopt;
    const auto id = made->vocabulary.find(*name);
    if (!id)
      refuse_file(beside, std::string{key} + " is " + *name
                            + ", which is not in " + file.string());
    return id;
  };
  made->specials = {
    resolve(names.bos, "bos_token"), resolve(names.eos, "eos_token"),
    resolve(names.pad, "pad_token"), resolve(names.unk, "unk_token")};
  return tokenizer{made};
}

std::vector<std::int32_t> tokenizer::encode(std::string_view text,
                                            template_tokens templated) const {
  const auto& have = *content_;
  std::vector<std::int32_t> out;
  if (templated == template_tokens::add)
    out = have.template_before;
  std::string repaired;
  if (!is_utf8(text))
    text = repaired = to_valid_utf8(text);
  for (const auto& piece : have.before_forms.split(text)) {
    if (piece.token_id) {
      out.push_back(*piece.token_id);
      continue;
    }
    const auto normal = have.forms.normalize(piece.text);
    for (const auto& part : have.after_forms.split(normal))
      if (part.token_id)
        out.push_back(*part.token_id);
      else
        have.model.encode(have.words.split(part.text).words, out);
  }
  if (templated == template_tokens::add)
    out.insert(out.end(), have.template_after.begin(),
               have.template_after.end());
  return out;
}

std::string tokenizer::decode(std::span<const std::int32_t> ids,
                              special_tokens shown) const {
  std::string out;
  for (const auto id : ids)
    if (shown == special_tokens::keep || !is_special(id))
      out += bytes_of(id);
  return is_utf8(out) ? out : to_valid_utf8(out);
}

std::int32_t tokenizer::vocab_size() const {
  return content_->vocabulary.end_id();
}

std::optional<std::int32_t> tokenizer::id_of(std::string_view token) const {
  return content_->vocabulary.find(token);
}

std::string_view tokenizer::bytes_of(std::int32_t id) const {
  if (id < 0 || id >= vocab_size())
    return {};
  const auto index = static_cast<std::size_t>(id);
  const auto begin = content_->bytes_begin[index];
  return std::string_view{content_->bytes}.substr(
    begin, content_->bytes_begin[index + 1] - begin);
}

bool tokenizer::is_special(std::int32_t id) const {
  return id >= 0 && id < vocab_size()
         && content_->is_special[static_cast<std::size_t>(id)];
}

const special_ids& tokenizer::specials() const {
  return content_->specials;
}

decode_stream::decode_stream(tokenizer used, special_tokens shown)
  : tokenizer_(std::move(used)), shown_(shown) {}

std::string decode_stream::push(std::int32_t id) {
  if (shown_ == special_tokens::skip && tokenizer_.is_special(id))
    return {};
  pending_ += tokenizer_.bytes_of(id);
  const auto certain = pending_.size() - unfinished_bytes(pending_);
  auto out = to_valid_utf8(std::string_view{pending_}.substr(0, certain));
  pending_.erase(0, certain);
  return out;
}

std::string decode_stream::finish() {
  return to_valid_utf8(std::exchange(pending_, {}));
}

void copy_tokenizer_files(const fs::path& from, const fs::path& to_folder) {
  const auto folder = fs::is_directory(from) ? from : from.parent_path();
  const auto main_file =
    fs::is_directory(from) ? from / "tokenizer.json" : from;
  if (!fs::exists(main_file))
    refuse_file(main_file, "no such file");
  const auto copy = [&](const fs::path& file, const std::string& name) {
    const auto target = to_folder / name;
    std::error_code error;
    if (!fs::exists(file) || fs::equivalent(file, target, error))
      return;
    fs::copy_file(file, target, fs::copy_options::overwrite_existing, error);
    if (error)
      throw protocols::failure{protocols::errc::io_failed,
                               "cannot copy " + file.string() + " to "
                                 + target.string() + ": " + error.message()};
  };
  copy(main_file, "tokenizer.json");
  for (const auto* name : {"tokenizer_config.json", "special_tokens_map.json",
                           "chat_template.jinja"})
    copy(folder / name, name);
}

} // namespace troupe::runtime::tokenizer
