// SPDX-License-Identifier: Apache-2.0
#include "runtime/tokenizer/byte_pair_model.hpp"

#include "runtime/tokenizer/byte_alphabet.hpp"
#include "runtime/tokenizer/utf8.hpp"

#include <algorithm>
#include <string>

namespace troupe::runtime::tokenizer {

namespace {

constexpr std::size_t max_cached_words = 1 << 16;
constexpr std::size_t max_cached_bytes = 64; ///< of one word
constexpr std::size_t num_tabled_characters = 1 << 16;
constexpr std::string_view mark = "\u2581"; ///< of a space

/// Returns "<0x0A>" for 10.
std::string byte_token(std::size_t byte) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  return {'<', '0', 'x', digits[byte / 16], digits[byte % 16], '>'};
}

} // namespace

struct byte_pair_model::scratch {
  std::vector<token_piece> symbols;
  std::vector<token_piece> merged;
};

byte_pair_model::byte_pair_model(const bpe_spec& spec, symbols made_of,
                                 const token_table& vocabulary,
                                 const std::filesystem::path& file)
  : vocabulary_(vocabulary), made_of_(made_of),
    ignores_merges_(spec.ignores_merges), fuses_unk_(spec.fuses_unk),
    merges_(spec.merges.size()) {
  read_symbols(spec, file);
  read_merges(spec, file);
}

void byte_pair_model::read_merges(const bpe_spec& spec,
                                  const std::filesystem::path& file) {
  std::size_t rank = 0;
  const auto id_of = [&](std::string_view token) {
    const auto id = vocabulary_.find(token);
    if (!id || token.empty())
      refuse_file(file, "model.merges[" + std::to_string(rank) + "] needs \""
                          + std::string{token}
                          + "\", which is not in model.vocab");
    return *id;
  };
  cuts_at_marks_ = made_of_ == symbols::characters && !ignores_merges_
                   && id_of_character(mark) >= 0 && !drops_characters();
  std::string joined;
  for (const auto& [left, right] : spec.merges) {
    joined.assign(left).append(right);
    merges_.add(id_of(left), id_of(right), id_of(joined));
    note_cut(spec, left, right);
    ++rank;
  }
}

/// Returns whether a character can be left out, which moves the spans of all
/// that follow in its word, as in `tokenizers`.
bool byte_pair_model::drops_characters() const {
  return !unk_id_
         && (byte_ids_.empty()
             || std::ranges::find(byte_ids_, -1) != byte_ids_.end());
}

void byte_pair_model::note_cut(const bpe_spec& spec, std::string_view left,
                               std::string_view right) {
  if (!cuts_at_marks_ || !right.starts_with(mark))
    return;
  if (left == spec.unk_token || left.starts_with("<0x") || !is_utf8(left))
    cuts_at_marks_ = false; // these stand for other text than they spell
  else
    joined_to_mark_.insert(last_character(left));
}

void byte_pair_model::read_symbols(const bpe_spec& spec,
                                   const std::filesystem::path& file) {
  std::optional<std::string> without;
  if (made_of_ == symbols::bytes) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const auto letter = static_cast<char>(byte);
      const auto spelled = spell_bytes({&letter, 1});
      symbol_ids_.push_back(vocabulary_.find(spelled).value_or(-1));
      if (symbol_ids_.back() < 0)
        without = spelled;
    }
    if (without && spec.falls_back_to_bytes)
      refuse_component(file, "model.byte_fallback", "true",
                       "is false where bytes are the symbols and one, "
                         + *without + ", has no token");
  } else {
    without = "a character";
    symbol_ids_.assign(num_tabled_characters, -1);
    for (const auto& [token, id] : spec.vocab) {
      auto rest = token;
      if (token.empty() || token.size() > 3 || !is_utf8(token))
        continue;
      if (const auto character = next_character(rest); rest.empty())
        symbol_ids_[character] = id;
    }
    if (spec.falls_back_to_bytes)
      for (std::size_t byte = 0; byte < 256; ++byte)
        byte_ids_.push_back(vocabulary_.find(byte_token(byte)).value_or(-1));
  }
  if (!spec.unk_token || !without)
    return;
  unk_id_ = vocabulary_.find(*spec.unk_token);
  if (!unk_id_)
    refuse_file(file, "model.unk_token is " + std::string{*spec.unk_token}
                        + ", which is not in model.vocab");
}

/// Writes the first symbols of a word. What has no token waits, so that it can
/// be fused, and is written before the next symbol that has one; `tokenizers`
/// lets tokens of single bytes overtake it.
class byte_pair_model::symbol_writer {
public:
  symbol_writer(const byte_pair_model& model, std::vector<token_piece>& out)
    : model_(model), out_(out) {}

  void add(std::int32_t id, std::string_view text) {
    if (id >= 0) {
      finish();
      out_.push_back({id, static_cast<std::uint32_t>(text.size())});
    } else if (!add_bytes(text) && model_.unk_id_) {
      if (!model_.fuses_unk_)
        finish();
      unknown_bytes_ += static_cast<std::uint32_t>(text.size());
    }
  }

  void finish() {
    if (unknown_bytes_ > 0)
      out_.push_back({*model_.unk_id_, unknown_bytes_});
    unknown_bytes_ = 0;
  }

private:
  [[nodiscard]] std::int32_t id_of(char byte) const {
    return model_.byte_ids_[static_cast<unsigned char>(byte)];
  }

  bool add_bytes(std::string_view text) {
    if (model_.byte_ids_.empty())
      return false;
    for (const auto byte : text)
      if (id_of(byte) < 0)
        return false;
    for (const auto byte : text)
      out_.push_back({id_of(byte), 1});
    return true;
  }

  const byte_pair_model& model_;
  std::vector<token_piece>& out_;
  std::uint32_t unknown_bytes_ = 0;
};

std::int32_t byte_pair_model::id_of_character(std::string_view text) const {
  if (text.size() > 3)
    return vocabulary_.find(text).value_or(-1);
  return symbol_ids_[next_character(text)];
}

void byte_pair_model::merge(std::string_view word, scratch& used) const {
  used.symbols.clear();
  used.merged.clear();
  symbol_writer writer{*this, used.symbols};
  if (made_of_ == symbols::bytes)
    for (std::size_t i = 0; i < word.size(); ++i)
      writer.add(symbol_ids_[static_cast<unsigned char>(word[i])],
                 word.substr(i, 1));
  else
    for (std::size_t i = 0; i < word.size();) {
      const auto text = word.substr(i, character_length(word[i]));
      writer.add(id_of_character(text), text);
      i += text.size();
    }
  writer.finish();
  merge_symbols(merges_, used.symbols, used.merged);
}

/// Returns where the first part of `word` ends that no merge leaves.
std::size_t byte_pair_model::end_of_part(std::string_view word) const {
  if (!cuts_at_marks_)
    return word.size();
  for (auto at = word.find(mark, 1); at != word.npos;
       at = word.find(mark, at + 1)) {
    const auto before = word.substr(0, at);
    if (before.ends_with(mark)
          ? !joined_to_mark_.contains(U'\u2581')
          : !joined_to_mark_.contains(last_character(before)))
      return at;
  }
  return word.size();
}

template <class Take>
void byte_pair_model::encode_each(std::string_view text,
                                  const std::vector<text_span>& words,
                                  Take&& take) const {
  const std::unique_lock lock{cache_->mutex, std::try_to_lock};
  scratch used;
  const auto encode_part = [&](std::string_view part, std::size_t begin) {
    const bool is_cached =
      lock.owns_lock() && part.size() > 1 && part.size() <= max_cached_bytes;
    if (is_cached)
      if (const auto found = cache_->words.find(part);
          found != cache_->words.end())
        return take(found->second, part, begin);
    if (ignores_merges_) {
      const auto whole = vocabulary_.find(
        made_of_ == symbols::bytes ? spell_bytes(part) : std::string{part});
      if (whole)
        used.merged.assign(1,
                           {*whole, static_cast<std::uint32_t>(part.size())});
      else
        merge(part, used);
    } else {
      merge(part, used);
    }
    if (is_cached && cache_->words.size() < max_cached_words)
      cache_->words.emplace(part, used.merged);
    take(used.merged, part, begin);
  };
  for (const auto word : words)
    for (auto begin = word.begin; begin < word.end;) {
      const auto rest = text.substr(begin, word.end - begin);
      const auto part = rest.substr(0, end_of_part(rest));
      encode_part(part, begin);
      begin += part.size();
    }
}

void byte_pair_model::encode(std::string_view text,
                             const std::vector<text_span>& words,
                             std::vector<std::int32_t>& out) const {
  encode_each(text, words, [&](const auto& pieces, auto, auto) {
    for (const auto& piece : pieces)
      out.push_back(piece.id);
  });
}

void byte_pair_model::encode(std::string_view text,
                             const std::vector<text_span>& words,
                             std::vector<placed_token>& out) const {
  const bool drops_bytes =
    made_of_ == symbols::bytes && !unk_id_
    && std::ranges::find(symbol_ids_, -1) != symbol_ids_.end();
  encode_each(text, words,
              [&](const auto& pieces, std::string_view part, auto begin) {
                auto end = begin;
                for (const auto& [id, length] : pieces) {
                  out.push_back({id, {end, end + length}});
                  end += length;
                }
                if (drops_bytes && end != begin + part.size())
                  place_as_spelled(part, begin, pieces.size(), out);
              });
}

/// Places the last `num_tokens` of `out`, of a word that lost bytes, as
/// `tokenizers` does: one behind the other in the word's spelling, whatever
/// was lost between them.
void byte_pair_model::place_as_spelled(std::string_view word, std::size_t begin,
                                       std::size_t num_tokens,
                                       std::vector<placed_token>& out) const {
  std::vector<std::size_t> byte_of; // of each byte of the spelling
  for (std::size_t i = 0; i < word.size(); ++i)
    byte_of.insert(byte_of.end(), spell_bytes(word.substr(i, 1)).size(), i);
  std::size_t at = 0;
  for (auto i = out.size() - num_tokens; i < out.size(); ++i) {
    const auto end = at + vocabulary_.spelling(out[i].id)->size();
    out[i].bytes = {begin + byte_of[at], begin + byte_of[end - 1] + 1};
    at = end;
  }
}

} // namespace troupe::runtime::tokenizer
