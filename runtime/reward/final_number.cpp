// SPDX-License-Identifier: Apache-2.0
#include "runtime/reward/grader.hpp"

#include <string>

namespace troupe::runtime::reward {

namespace {

constexpr std::string_view unicode_minus = "\xe2\x88\x92"; // U+2212
constexpr std::string_view marker = "####";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// True if a sign after this character is an operator ("5-3", "x-3").
bool is_operand_end(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
         || c == ')' || c == ']';
}

class number_scanner {
public:
  explicit number_scanner(std::string_view text) : text_(text) {}

  /// Returns the next number in normal form.
  std::optional<std::string> next() {
    for (; at_ < text_.size(); ++at_) {
      const bool starts_with_point =
        char_at(at_) == '.' && is_digit(char_at(at_ + 1))
        && (at_ == 0 || !is_operand_end(text_[at_ - 1]));
      if (is_digit(text_[at_]) || starts_with_point)
        return scan();
    }
    return std::nullopt;
  }

private:
  [[nodiscard]] char char_at(std::size_t i) const {
    return i < text_.size() ? text_[i] : '\0';
  }

  [[nodiscard]] std::size_t num_digits_at(std::size_t i) const {
    auto end = i;
    while (is_digit(char_at(end)))
      ++end;
    return end - i;
  }

  [[nodiscard]] bool is_negative() const {
    auto sign = text_.substr(0, at_);
    if (sign.ends_with('-'))
      sign.remove_suffix(1);
    else if (sign.ends_with(unicode_minus))
      sign.remove_suffix(unicode_minus.size());
    else
      return false;
    return sign.empty() || !is_operand_end(sign.back());
  }

  std::string scan() {
    const bool negative = is_negative();
    std::string whole, fraction;
    auto length = num_digits_at(at_);
    whole = text_.substr(at_, length);
    at_ += length;
    if (length >= 1 && length <= 3)
      while (char_at(at_) == ',' && num_digits_at(at_ + 1) == 3) {
        whole += text_.substr(at_ + 1, 3);
        at_ += 4;
      }
    if (char_at(at_) == '.' && is_digit(char_at(at_ + 1))) {
      length = num_digits_at(at_ + 1);
      fraction = text_.substr(at_ + 1, length);
      at_ += 1 + length;
    }
    whole.erase(0, whole.find_first_not_of('0'));
    fraction.erase(fraction.find_last_not_of('0') + 1);
    if (whole.empty() && fraction.empty())
      return "0";
    return (negative ? "-" : "") + (whole.empty() ? "0" : whole)
           + (fraction.empty() ? "" : '.' + fraction);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

} // namespace

std::optional<std::string> final_number_of(std::string_view text) {
  if (const auto at = text.rfind(marker); at != std::string_view::npos)
    if (auto marked = number_scanner{text.substr(at + marker.size())}.next())
      return marked;
  number_scanner scanner{text};
  std::optional<std::string> last;
  while (auto number = scanner.next())
    last = std::move(number);
  return last;
}

} // namespace troupe::runtime::reward
