// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/read_value.hpp"

#include "protocols/failure.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace troupe::runtime::config {

using protocols::errc;
using protocols::failure;

namespace {

/// What the value is in the file, for error texts.
std::string describe(const YAML::Node& node) {
  if (node.IsMap())
    return "a block";
  if (node.IsSequence())
    return "a list";
  return node.IsScalar() ? '"' + node.Scalar() + '"' : "empty";
}

class value_reader {
public:
  value_reader(const key_row& row, const key_value& value)
    : row_(row), value_(value) {}

  void read(std::monostate) const {}

  void read(bool* out) const {
    const auto& text = plain_text(value_.node);
    if (text != "true" && text != "false")
      wrong_type(value_.node);
    *out = text == "true";
  }

  void read(std::string* out) const {
    auto text = text_of(value_.node);
    const auto& choices = row_.facts.choices;
    if (!choices.empty() && std::ranges::find(choices, text) == choices.end())
      out_of_range(value_.node);
    *out = std::move(text);
  }

  template <class Number>
  void read(Number* out) const {
    *out = number<Number>(value_.node);
  }

  void read(std::vector<std::int64_t>* out) const {
    read_list(out, [this](const YAML::Node& item) {
      return number<std::int64_t>(item);
    });
  }

  /// A text by itself is a list of one.
  void read(std::vector<std::string>* out) const {
    if (value_.node.IsScalar())
      *out = {text_of(value_.node)};
    else
      read_list(out, [this](const YAML::Node& item) { return text_of(item); });
    if (out->empty() && row_.facts.need == presence::required)
      out_of_range(value_.node);
  }

private:
  template <class Item, class Read>
  void read_list(std::vector<Item>* out, Read read_item) const {
    if (!value_.node.IsSequence())
      wrong_type(value_.node);
    std::vector<Item> items;
    for (const auto& item : value_.node)
      items.push_back(read_item(item));
    *out = std::move(items);
  }

  /// The text of a scalar without quotes ("5" in quotes is no number).
  [[nodiscard]] const std::string& plain_text(const YAML::Node& node) const {
    if (!node.IsScalar() || node.Tag() == "!")
      wrong_type(node);
    return node.Scalar();
  }

  [[nodiscard]] std::string text_of(const YAML::Node& node) const {
    if (!node.IsScalar())
      wrong_type(node);
    if (node.Scalar().empty())
      out_of_range(node);
    return node.Scalar();
  }

  template <class Number>
  [[nodiscard]] Number number(const YAML::Node& node) const {
    const auto& text = plain_text(node);
    const auto* end = text.data() + text.size();
    Number out{};
    const auto result = std::from_chars(text.data(), end, out);
    if (result.ptr != end || result.ec == std::errc::invalid_argument) {
      if (std::is_unsigned_v<Number> && is_negative(text))
        out_of_range(node);
      wrong_type(node);
    }
    if (result.ec == std::errc::result_out_of_range
        || !is_allowed(static_cast<double>(out)))
      out_of_range(node);
    return out;
  }

  static bool is_negative(const std::string& text) {
    return text.size() > 1 && text.front() == '-'
           && text.find_first_not_of("0123456789", 1) == std::string::npos;
  }

  [[nodiscard]] bool is_allowed(double number) const {
    const auto& facts = row_.facts;
    return std::isfinite(number)
           && (facts.open_min ? number > facts.min : number >= facts.min)
           && (facts.open_max ? number < facts.max : number <= facts.max);
  }

  [[noreturn]] void wrong_type(const YAML::Node& node) const {
    refuse(errc::config_wrong_type, node);
  }

  [[noreturn]] void out_of_range(const YAML::Node& node) const {
    refuse(errc::config_out_of_range, node);
  }

  [[noreturn]] void refuse(errc code, const YAML::Node& node) const {
    const auto quotes = node.IsScalar() && node.Tag() == "!"
                          ? std::string{" in quotes, which is text"}
                          : std::string{};
    throw failure{code, value_.place + ": " + row_.path + " is "
                          + describe(node)
                          + (code == errc::config_wrong_type ? quotes : "")
                          + "; allowed: " + allowed_values(row_)};
  }

  const key_row& row_;
  const key_value& value_;
};

} // namespace

void read_value(const key_row& row, const key_value& value, job_config& job) {
  const value_reader reader{row, value};
  std::visit([&reader](auto member) { reader.read(member); }, row.member(job));
}

} // namespace troupe::runtime::config
