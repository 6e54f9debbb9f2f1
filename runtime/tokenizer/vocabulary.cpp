// SPDX-License-Identifier: Apache-2.0
#include "runtime/tokenizer/vocabulary.hpp"

namespace troupe::runtime::tokenizer {

token_table build_vocabulary(const tokenizer_spec& spec) {
  std::size_t num_bytes = 0;
  for (const auto& [spelling, id] : spec.bpe.vocab)
    num_bytes += spelling.size();
  token_table out{spec.bpe.vocab.size() + spec.added.size(), num_bytes};
  // Ids index tables: a damaged one must not reserve all memory.
  const auto end_id =
    4 * (spec.bpe.vocab.size() + spec.added.size()) + (1U << 16);
  const auto add = [&](std::string_view spelling, std::int32_t id,
                       const char* where) {
    if (static_cast<std::size_t>(id) >= end_id)
      refuse_file(spec.file, std::string{where} + " gives id "
                               + std::to_string(id) + " to "
                               + std::string{spelling}
                               + ", but with so few tokens ids end at "
                               + std::to_string(end_id));
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
  auto next_id = static_cast<std::int32_t>(out.num_tokens());
  for (const auto& token : spec.added) {
    if (token.text.empty())
      continue;
    if (!out.find(token.text) && token.id != next_id++)
      refuse_file(spec.file, "added_tokens gives id " + std::to_string(token.id)
                               + " to " + token.text + ", but it follows "
                               + std::to_string(next_id - 1)
                               + " tokens: `tokenizers` would number it so");
    add(token.text, token.id, "added_tokens");
  }
  return out;
}

} // namespace troupe::runtime::tokenizer
