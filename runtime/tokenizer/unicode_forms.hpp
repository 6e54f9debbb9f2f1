// SPDX-License-Identifier: Apache-2.0
//
// Unicode's normal forms, by ICU; with spans, by ICU's tables, because its
// own functions do not say which character became which.
//
// Source: Unicode Standard Annex 15, https://unicode.org/reports/tr15, section
// 1.3 and D117 of the standard. Differs: nothing. Spans follow `tokenizers`: a
// reordered mark takes the place of the one that it displaced.
#pragma once

#include "runtime/tokenizer/aligned_text.hpp"
#include "runtime/tokenizer/tokenizer_steps.hpp"

namespace troupe::runtime::tokenizer {

/// Errors: internal (ICU's own, such as missing data).
aligned_text to_normal_form(const aligned_text& text, normal_form form);

} // namespace troupe::runtime::tokenizer
