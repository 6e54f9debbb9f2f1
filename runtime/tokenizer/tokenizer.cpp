// SPDX-License-Identifier: Apache-2.0
#include "runtime/tokenizer/tokenizer.hpp"

#include "protocols/failure.hpp"
#include "runtime/tokenizer/added_tokens.hpp"
#include "runtime/tokenizer/byte_pair_model.hpp"
#include "runtime/tokenizer/decoder.hpp"
#include "runtime/tokenizer/normalizer.hpp"
#include "runtime/tokenizer/post_processor.hpp"
#include "runtime/tokenizer/pre_tokenizer.hpp"
#include "runtime/tokenizer/utf8.hpp"
#include "runtime/tokenizer/vocabulary.hpp"

#include <utility>

namespace troupe::runtime::tokenizer {

namespace fs = std::filesystem;

namespace {

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

/// Returns the spelling of each id; a normalised added token's is normalised.
std::vector<std::string_view> spellings_of(const token_table& vocabulary,
                                           const added_token_finder& normal) {
  std::vector<std::string_view> out;
  for (std::int32_t id = 0; id < vocabulary.end_id(); ++id)
    out.push_back(vocabulary.spelling(id).value_or(""));
  for (const auto& token : normal.tokens())
    if (!token.text.empty())
      out[static_cast<std::size_t>(token.id)] = token.text;
  return out;
}

void refuse_sentencepiece(const fs::path& from) {
  const auto file = fs::is_directory(from) ? from / "tokenizer.model" : from;
  if (file.extension() != ".model" || !fs::exists(file)
      || fs::exists(file.parent_path() / "tokenizer.json"))
    return;
  throw protocols::failure{
    protocols::errc::tokenizer_unsupported,
    file.string()
      + ": SentencePiece's format; supported is tokenizer.json. To convert: "
        "transformers.AutoTokenizer.from_pretrained(FOLDER).save_pretrained("
        "FOLDER)"};
}

using model_symbols = byte_pair_model::symbols;

} // namespace

struct tokenizer::content {
  explicit content(const tokenizer_spec& spec)
    : vocabulary(build_vocabulary(spec)), forms(spec.normalizer, spec.file),
      before_forms(select(spec, forms, false)),
      after_forms(select(spec, forms, true)),
      words(spec.pre_tokenizer, spec.file),
      model(spec.bpe,
            words.gives_bytes() ? model_symbols::bytes
                                : model_symbols::characters,
            vocabulary, spec.file),
      after(spec.post_processor),
      texts(spec.decoder, spellings_of(vocabulary, after_forms), spec.file),
      is_special(static_cast<std::size_t>(vocabulary.end_id())) {
    for (const auto id : after.added_ids())
      if (!vocabulary.spelling(id))
        refuse_file(spec.file, "post_processor adds id " + std::to_string(id)
                                 + ", which is of no token");
    for (const auto& token : spec.added)
      if (!token.text.empty())
        is_special[static_cast<std::size_t>(token.id)] = token.is_special;
  }

  /// Returns whether decoding takes `id`: a token, and not a hidden one.
  [[nodiscard]] bool is_shown(std::int32_t id, special_tokens shown) const {
    return vocabulary.spelling(id)
           && (shown == special_tokens::keep
               || !is_special[static_cast<std::size_t>(id)]);
  }

  /// Calls `on_token(id, its text)` and `on_words(list)` in turn.
  template <class OnToken, class OnWords>
  void walk(std::string_view text, aligned_text::tracking tracks,
            OnToken&& on_token, OnWords&& on_words) const {
    const aligned_text source{text, tracks};
    for (const auto& [bytes, token_id] : before_forms.split(text)) {
      const auto piece = source.slice(bytes.begin, bytes.end);
      if (token_id) {
        on_token(*token_id, piece);
        continue;
      }
      const auto normal = forms.normalize(piece);
      for (const auto& [part, part_id] : after_forms.split(normal.text()))
        if (part_id)
          on_token(*part_id, normal.slice(part.begin, part.end));
        else
          on_words(words.split(normal.slice(part.begin, part.end)));
    }
  }

  token_table vocabulary;
  normalizer forms;
  added_token_finder before_forms;
  added_token_finder after_forms;
  pre_tokenizer words;
  byte_pair_model model;
  post_processor after;
  decoder texts;
  std::vector<bool> is_special; ///< by id
  special_ids specials;
};

tokenizer::tokenizer(std::shared_ptr<const content> made)
  : content_(std::move(made)) {}

tokenizer tokenizer::load(const fs::path& file_or_folder) {
  refuse_sentencepiece(file_or_folder);
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
    have.after.add_before(out);
  std::string repaired;
  if (!is_utf8(text))
    text = repaired = to_valid_utf8(text);
  have.walk(
    text,
    have.words.needs_origins() ? aligned_text::tracking::on
                               : aligned_text::tracking::off,
    [&](std::int32_t id, const aligned_text&) { out.push_back(id); },
    [&](const word_list& list) {
      have.model.encode(list.text.text(), list.words, out);
    });
  if (templated == template_tokens::add)
    have.after.add_after(out);
  return out;
}

encoding tokenizer::encode_with_spans(std::string_view text,
                                      template_tokens templated) const {
  const auto& have = *content_;
  std::string repaired;
  if (!is_utf8(text))
    text = repaired = to_valid_utf8(text);
  std::vector<traced_token> tokens;
  std::vector<byte_pair_model::placed_token> placed;
  have.walk(
    text, aligned_text::tracking::on,
    [&](std::int32_t id, const aligned_text& found) {
      tokens.push_back(
        trace(id, found.origin(0, found.text().size()), found.text()));
    },
    [&](const word_list& list) {
      placed.clear();
      have.model.encode(list.text.text(), list.words, placed);
      for (const auto& [id, bytes] : placed)
        tokens.push_back(trace(id, list.text.origin(bytes.begin, bytes.end),
                               have.vocabulary.spelling(id).value_or("")));
    });
  have.after.trim(text, tokens);

  encoding out;
  if (templated == template_tokens::add)
    have.after.add_before(out.ids);
  out.spans.resize(out.ids.size());
  for (const auto& token : tokens) {
    out.ids.push_back(token.id);
    out.spans.push_back(token.source);
  }
  if (templated == template_tokens::add)
    have.after.add_after(out.ids);
  out.spans.resize(out.ids.size());
  return out;
}

std::string tokenizer::decode(std::span<const std::int32_t> ids,
                              special_tokens shown) const {
  const auto& texts = content_->texts;
  std::string out;
  auto state = texts.begin();
  const bool joins = texts.only_joins_bytes();
  for (const auto id : ids) {
    if (!content_->is_shown(id, shown))
      continue;
    if (joins)
      out += texts.text_of(id);
    else
      texts.push(state, id, out);
  }
  if (joins)
    return is_utf8(out) ? out : to_valid_utf8(out);
  texts.finish(state, out);
  return out;
}

std::int32_t tokenizer::vocab_size() const {
  return content_->vocabulary.end_id();
}

std::optional<std::int32_t> tokenizer::id_of(std::string_view token) const {
  return content_->vocabulary.find(token);
}

std::string_view tokenizer::bytes_of(std::int32_t id) const {
  return content_->texts.text_of(id);
}

bool tokenizer::is_special(std::int32_t id) const {
  return id >= 0 && id < vocab_size()
         && content_->is_special[static_cast<std::size_t>(id)];
}

const special_ids& tokenizer::specials() const {
  return content_->specials;
}

decode_stream::decode_stream(tokenizer used, special_tokens shown)
  : tokenizer_(std::move(used)), shown_(shown),
    state_(tokenizer_.content_->texts.begin()) {}

std::string decode_stream::push(std::int32_t id) {
  std::string out;
  if (!tokenizer_.content_->is_shown(id, shown_))
    return out;
  tokenizer_.content_->texts.push(state_, id, out);
  return out;
}

std::string decode_stream::finish() {
  std::string out;
  tokenizer_.content_->texts.finish(state_, out);
  return out;
}

} // namespace troupe::runtime::tokenizer
