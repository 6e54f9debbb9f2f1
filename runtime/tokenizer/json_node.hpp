// SPDX-License-Identifier: Apache-2.0
//
// A value of a parsed JSON file together with its path, so that each refusal
// names both. Internal to this folder: simdjson.h costs seconds to compile.
#pragma once

#include "runtime/tokenizer/tokenizer_spec.hpp"

#include <simdjson.h>

namespace troupe::runtime::tokenizer {

/// A value and its path in the file, for error texts.
class node {
public:
  /// Keeps a damaged id from reserving all memory.
  static constexpr std::int64_t max_id = 1 << 24;

  node(const std::filesystem::path& file, simdjson::dom::element value,
       std::string path)
    : file_(&file), value_(value), path_(std::move(path)) {}

  [[nodiscard]] const std::string& path() const { return path_; }

  /// Returns the member; null and absent are the same.
  [[nodiscard]] std::optional<node> find(const char* key) const {
    simdjson::dom::element out;
    if (value_[key].get(out) != simdjson::SUCCESS || out.is_null())
      return std::nullopt;
    return node{*file_, out, path_.empty() ? key : path_ + "." + key};
  }

  [[nodiscard]] node at(const char* key) const {
    if (auto out = find(key))
      return *out;
    refuse_file(*file_,
                (path_.empty() ? "" : path_ + ".") + key + " is missing");
  }

  [[nodiscard]] std::string_view text() const {
    std::string_view out;
    if (value_.get(out) != simdjson::SUCCESS)
      wrong_type("text");
    return out;
  }

  [[nodiscard]] bool flag() const {
    bool out = false;
    if (value_.get(out) != simdjson::SUCCESS)
      wrong_type("true or false");
    return out;
  }

  [[nodiscard]] std::int32_t token_id() const {
    std::int64_t out = 0;
    if (value_.get(out) != simdjson::SUCCESS || out < 0 || out >= max_id)
      wrong_type("a token id");
    return static_cast<std::int32_t>(out);
  }

  [[nodiscard]] std::size_t count() const {
    std::uint64_t out = 0;
    if (value_.get(out) != simdjson::SUCCESS)
      wrong_type("a count");
    return out;
  }

  [[nodiscard]] simdjson::dom::object object() const {
    simdjson::dom::object out;
    if (value_.get(out) != simdjson::SUCCESS)
      wrong_type("an object");
    return out;
  }

  [[nodiscard]] std::vector<node> list() const {
    simdjson::dom::array values;
    if (value_.get(values) != simdjson::SUCCESS)
      wrong_type("a list");
    std::vector<node> out;
    for (auto value : values)
      out.emplace_back(*file_, value,
                       path_ + "[" + std::to_string(out.size()) + "]");
    return out;
  }

  [[nodiscard]] simdjson::dom::element value() const { return value_; }

  /// Returns the value as JSON, cut after 60 bytes.
  [[nodiscard]] std::string shown() const {
    auto out = simdjson::minify(value_);
    return out.size() > 60 ? out.substr(0, 60) + "..." : out;
  }

  [[nodiscard]] bool flag_or(const char* key, bool absent) const {
    const auto found = find(key);
    return found ? found->flag() : absent;
  }

  [[noreturn]] void wrong_type(const char* wanted) const {
    refuse_file(*file_,
                path_ + " is " + shown() + ", not " + std::string{wanted});
  }

  [[noreturn]] void unsupported(const std::string& allowed) const {
    refuse_component(*file_, path_, shown(), allowed);
  }

private:
  const std::filesystem::path* file_;
  simdjson::dom::element value_;
  std::string path_;
};

} // namespace troupe::runtime::tokenizer
