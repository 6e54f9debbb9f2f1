// SPDX-License-Identifier: Apache-2.0
#include "runtime/tokenizer/unicode_forms.hpp"

#include "protocols/failure.hpp"
#include "runtime/tokenizer/utf8.hpp"

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>

#include <algorithm>
#include <optional>

namespace troupe::runtime::tokenizer {

namespace {

void check(UErrorCode error) {
  if (U_FAILURE(error))
    throw protocols::failure{protocols::errc::internal,
                             std::string{"Unicode normalisation: "}
                               + u_errorName(error)};
}

const icu::Normalizer2& instance_of(normal_form form) {
  auto error = U_ZERO_ERROR;
  const icu::Normalizer2* out = nullptr;
  switch (form) {
  case normal_form::nfc: out = icu::Normalizer2::getNFCInstance(error); break;
  case normal_form::nfd: out = icu::Normalizer2::getNFDInstance(error); break;
  case normal_form::nfkc: out = icu::Normalizer2::getNFKCInstance(error); break;
  case normal_form::nfkd: out = icu::Normalizer2::getNFKDInstance(error); break;
  }
  check(error);
  return *out;
}

bool composes(normal_form form) {
  return form == normal_form::nfc || form == normal_form::nfkc;
}

/// A character of the result, and how many of the source it stands for: 0 if
/// one before it in the result stands for them.
struct element {
  UChar32 character;
  std::uint8_t combining_class;
  std::int32_t num_sources;
};

/// Decomposes and puts marks into their canonical order.
std::vector<element> decompose(std::string_view text,
                               const icu::Normalizer2& used) {
  std::vector<element> out;
  out.reserve(text.size());
  std::size_t begin_of_marks = 0;
  icu::UnicodeString parts;
  const auto sort_marks = [&] {
    std::stable_sort(out.begin() + static_cast<std::ptrdiff_t>(begin_of_marks),
                     out.end(), [](const auto& a, const auto& b) {
                       return a.combining_class < b.combining_class;
                     });
  };
  const auto add = [&](UChar32 character, std::int32_t num_sources) {
    const auto found = used.getCombiningClass(character);
    if (found == 0)
      sort_marks();
    out.push_back({character, found, num_sources});
    if (found == 0)
      begin_of_marks = out.size();
  };
  while (!text.empty()) {
    const auto character = static_cast<UChar32>(next_character(text));
    if (!used.getDecomposition(character, parts)) {
      add(character, 1);
      continue;
    }
    for (std::int32_t i = 0; i < parts.length(); i = parts.moveIndex32(i, 1))
      add(parts.char32At(i), i == 0 ? 1 : 0);
  }
  sort_marks();
  return out;
}

/// Joins each starter with what follows and is not blocked from it.
void compose(std::vector<element>& text, const icu::Normalizer2& used) {
  std::optional<std::size_t> starter;
  std::int32_t last_class = -1; ///< of what is kept after it; -1 blocks none
  std::size_t size = 0;
  for (const auto& next : std::vector<element>{text}) {
    const bool is_blocked = !starter || last_class >= next.combining_class;
    const auto joined =
      is_blocked ? -1
                 : used.composePair(text[*starter].character, next.character);
    if (joined >= 0) {
      text[*starter].character = joined;
      text[*starter].num_sources += next.num_sources;
      continue;
    }
    text[size] = next;
    if (next.combining_class == 0) {
      starter = size;
      last_class = -1;
    } else if (starter) {
      last_class = next.combining_class;
    }
    ++size;
  }
  text.resize(size);
}

/// Writes the characters; those that stand for none share the place before.
aligned_text write(const aligned_text& from, const std::vector<element>& to) {
  text_edit edit{from};
  std::size_t at = 0;
  std::size_t end_before = 0;
  for (const auto& [character, combining_class, num_sources] : to) {
    const auto is_extra = num_sources <= 0;
    edit.put(to_utf8(static_cast<char32_t>(character)),
             is_extra && at > 0 ? end_before : at);
    for (auto i = 0; i < num_sources; ++i) {
      end_before = at;
      at += character_length(from.text()[at]);
    }
  }
  return edit.finish();
}

} // namespace

aligned_text to_normal_form(const aligned_text& text, normal_form form) {
  const auto& used = instance_of(form);
  auto error = U_ZERO_ERROR;
  const auto content = text.text();
  const bool is_normal = used.isNormalizedUTF8(
    {content.data(), static_cast<std::int32_t>(content.size())}, error);
  check(error);
  if (is_normal)
    return text;
  if (!text.tracks()) {
    std::string out;
    icu::StringByteSink<std::string> sink{&out};
    used.normalizeUTF8(0, content, sink, nullptr, error);
    check(error);
    text_edit edit{text};
    edit.put(out, 0);
    return edit.finish();
  }
  auto elements = decompose(content, used);
  if (composes(form))
    compose(elements, used);
  return write(text, elements);
}

} // namespace troupe::runtime::tokenizer
