// SPDX-License-Identifier: Apache-2.0
#include "runtime/tokenizer/pattern.hpp"

#include "protocols/failure.hpp"
#include "runtime/tokenizer/tokenizer_spec.hpp"
#include "runtime/tokenizer/utf8.hpp"

#ifndef PCRE2_CODE_UNIT_WIDTH
#define PCRE2_CODE_UNIT_WIDTH 8
#endif
#include <pcre2.h>

#include <array>
#include <new>
#include <stdexcept>

namespace troupe::runtime::tokenizer {

namespace {

/// What Oniguruma calls \w inside of brackets; outside, its table of Latin-1
/// holds six numbers more.
constexpr std::string_view word_in_class =
  "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}";
constexpr std::string_view word = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}"
                                  "\\x{b2}\\x{b3}\\x{b9}\\x{bc}-\\x{be}";

std::string text_of(int error) {
  std::array<PCRE2_UCHAR, 256> buffer{};
  pcre2_get_error_message(error, buffer.data(), buffer.size());
  return reinterpret_cast<const char*>(buffer.data());
}

/// Returns the length of what is refused at `rest`, outside of brackets.
std::size_t refused_group(std::string_view rest) {
  // Flags: Ruby's m lets a dot match line ends, and its ^ and $ are always
  // those of lines; only i means the same.
  for (const std::string_view known :
       {"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:", "(?i)", "(?-i:"})
    if (rest.starts_with(known))
      return 0;
  return rest.starts_with("(?") || rest.starts_with("(*") ? 3 : 0;
}

} // namespace

translated_pattern translate_pattern(std::string_view pattern) {
  translated_pattern out;
  int depth = 0; // of brackets: a bracket in one is a union for Oniguruma
  const auto refuse = [&](std::size_t at, std::size_t length) {
    out.refused = std::string{pattern.substr(at, length)};
    return out;
  };
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const auto rest = pattern.substr(at);
    if (rest[0] != '\\') {
      if (depth == 0 && refused_group(rest) != 0)
        return refuse(at, refused_group(rest));
      if (depth == 0 && rest.starts_with("}+")) // Ruby: a repeated repeat
        return refuse(at, 2);
      if (depth > 0
          && (rest.starts_with("&&") || rest.starts_with("[^")
              || rest.starts_with("[:") || rest.starts_with("[]")))
        return refuse(at, 2);
      if (rest[0] == '[' && ++depth > 1)
        continue;
      if (rest[0] == ']' && depth > 0 && --depth > 0)
        continue;
      if (rest[0] == '[') {
        // a leading ^ or ] belongs to the bracket
        for (const auto lead : {'^', ']'})
          if (at + 1 < pattern.size() && pattern[at + 1] == lead)
            out.pattern += pattern[at++];
      }
      out.pattern += pattern[at];
      continue;
    }
    const char letter = rest.size() > 1 ? rest[1] : '\0';
    ++at;
    switch (letter) {
    case 's': out.pattern += "\\p{White_Space}"; break;
    case 'S': out.pattern += "\\P{White_Space}"; break;
    case 'w':
      out.pattern +=
        depth > 0 ? std::string{word_in_class} : "[" + std::string{word} + "]";
      break;
    case 'W':
      if (depth > 0)
        return refuse(at - 1, 2);
      out.pattern += "[^" + std::string{word} + "]";
      break;
    case 'p':
    case 'P': { // with its braces, which are no repeat
      const auto end = pattern.find('}', at);
      if (end == pattern.npos)
        return refuse(at - 1, 2);
      out.pattern += pattern.substr(at - 1, end - at + 2);
      at = end;
      break;
    }
    case 'b': {
      if (depth > 0)
        return refuse(at - 1, 2);
      const auto w = "[" + std::string{word} + "]";
      out.pattern +=
        "(?:(?<=" + w + ")(?!" + w + ")|(?<!" + w + ")(?=" + w + "))";
      break;
    }
    case 'u':   // four digits
    case 'x': { // in braces
      const auto digits = letter == 'u' ? rest.substr(2, 4)
                          : rest.substr(2, 1) == "{"
                            ? rest.substr(3, rest.find('}') - 3)
                            : std::string_view{};
      if (digits.empty()
          || digits.find_first_not_of("0123456789abcdefABCDEF") != rest.npos
          || (letter == 'u' && digits.size() < 4))
        return refuse(at - 1, 2);
      out.pattern += "\\x{" + std::string{digits} + "}";
      at += digits.size() + (letter == 'u' ? 0 : 2);
      break;
    }
    case 'A':
    case 'z':
      if (depth > 0)
        return refuse(at - 1, 2);
      [[fallthrough]];
    case 'd':
    case 'D':
    case 'r':
    case 'n':
    case 't': out.pattern += rest.substr(0, 2); break;
    default:
      if (letter == '\0' || (letter >= '0' && letter <= '9')
          || (letter >= 'a' && letter <= 'z')
          || (letter >= 'A' && letter <= 'Z')
          || static_cast<unsigned char>(letter) >= 0x80)
        return refuse(at - 1, 2);
      out.pattern += rest.substr(0, 2);
    }
  }
  return out;
}

struct pattern::compiled {
  pcre2_code* code = nullptr;
  ~compiled() { pcre2_code_free(code); }
};

pattern::pattern(const std::string& translated)
  : compiled_(std::make_unique<compiled>()) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  compiled_->code = pcre2_compile(
    reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
    PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, &error, &offset, nullptr);
  if (compiled_->code == nullptr)
    throw std::invalid_argument(text_of(error) + " at offset "
                                + std::to_string(offset));
  // Without it, matching is slower, not wrong.
  pcre2_jit_compile(compiled_->code, PCRE2_JIT_COMPLETE);
}

pattern::pattern(pattern&&) noexcept = default;
pattern& pattern::operator=(pattern&&) noexcept = default;
pattern::~pattern() = default;

pattern::search::search(const pattern& used, std::string_view text)
  : used_(&used), text_(text), match_data_(pcre2_match_data_create_from_pattern(
                                 used.compiled_->code, nullptr)) {
  if (match_data_ == nullptr)
    throw std::bad_alloc{};
}

pattern::search::~search() {
  pcre2_match_data_free(static_cast<pcre2_match_data*>(match_data_));
}

std::optional<std::pair<std::size_t, std::size_t>> pattern::search::next() {
  auto* data = static_cast<pcre2_match_data*>(match_data_);
  const auto run = [&](std::uint32_t options) {
    return pcre2_match(used_->compiled_->code,
                       reinterpret_cast<PCRE2_SPTR>(text_.data()), text_.size(),
                       from_, options | PCRE2_NO_UTF_CHECK, data, nullptr);
  };
  while (from_ <= text_.size()) {
    auto found = run(0);
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) // the interpreter uses the heap
      found = run(PCRE2_NO_JIT);
    if (found == PCRE2_ERROR_NOMATCH)
      return std::nullopt;
    if (found < 0)
      throw protocols::failure{protocols::errc::internal,
                               "regular expression of the tokenizer: "
                                 + text_of(found)};
    const auto* bounds = pcre2_get_ovector_pointer(data);
    if (bounds[0] == bounds[1] && end_before_ == bounds[1]) {
      // As Oniguruma's crate does: try again one character further.
      from_ += from_ < text_.size() ? character_length(text_[from_]) : 1;
      continue;
    }
    from_ = bounds[1];
    end_before_ = bounds[1];
    return std::pair{bounds[0], bounds[1]};
  }
  return std::nullopt;
}

bool pattern::can_be_empty() const {
  std::uint32_t out = 0;
  pcre2_pattern_info(compiled_->code, PCRE2_INFO_MATCHEMPTY, &out);
  return out != 0;
}

match_finder::match_finder(const text_pattern& from,
                           const std::filesystem::path& file) {
  if (from.text.empty())
    refuse_component(file, from.where, "\"\"", "is what is not empty");
  if (!from.is_regex) {
    literal_ = from.text;
    return;
  }
  const auto translated = translate_pattern(from.text);
  if (translated.refused)
    throw protocols::failure{
      protocols::errc::tokenizer_unsupported,
      file.string() + ": " + from.where + " " + from.text + " uses "
        + *translated.refused + "; supported is what docs/tokenizers.md lists"};
  try {
    regex_.emplace(translated.pattern);
  } catch (const std::invalid_argument& error) {
    refuse_file(file, from.where + " " + from.text + ": " + error.what());
  }
}

bool match_finder::can_be_empty() const {
  return regex_ && regex_->can_be_empty();
}

} // namespace troupe::runtime::tokenizer
