// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/tokenizer/token_table.hpp"
#include "runtime/tokenizer/tokenizer_spec.hpp"

namespace troupe::runtime::tokenizer {

/// Joins the model's vocabulary and the added tokens, with the ids that
/// `tokenizers` would give them.
/// Errors: tokenizer_unreadable (a token or an id twice, an added token that
/// does not follow the vocabulary, an id out of proportion).
token_table build_vocabulary(const tokenizer_spec& spec);

} // namespace troupe::runtime::tokenizer
