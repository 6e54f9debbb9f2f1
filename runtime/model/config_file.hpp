// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocols/failure.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace troupe::runtime::model {

/// One JSON object of a model folder, with errors that name file, key, value
/// and what is allowed. Keys of objects within are paths: rope_scaling/factor.
/// Errors: model_unreadable, for each reader, of a value of the wrong kind.
class config_file {
public:
  using json = nlohmann::ordered_json;

  /// Errors: model_unreadable.
  explicit config_file(std::filesystem::path file);

  /// Returns the value, null if the key is absent.
  [[nodiscard]] const json& operator[](const std::string& path) const;

  /// True if the key is there, null or not.
  [[nodiscard]] bool has(const std::string& path) const;

  [[noreturn]] void refuse(protocols::errc code, const std::string& key,
                           const std::string& allowed) const;

  /// Errors: model_unsupported unless the value is absent or the given one.
  void require(const std::string& key, const json& value) const;

  /// An integer from 1. Without `absent` it must be there.
  [[nodiscard]] std::int64_t
  count(const std::string& key, std::optional<std::int64_t> absent = {}) const;

  /// A number above 0 that 32 bits hold. Without `absent` it must be there.
  [[nodiscard]] double positive(const std::string& key,
                                std::optional<double> absent = {}) const;

  [[nodiscard]] bool flag(const std::string& key, bool absent = false) const;

  /// The ids of an integer or a list; null has none.
  [[nodiscard]] std::vector<std::int32_t>
  token_ids(const std::string& key, std::int64_t vocab_size) const;

  [[nodiscard]] std::int32_t token_id(const std::string& key,
                                      std::int64_t vocab_size,
                                      std::int32_t absent) const;

  [[nodiscard]] const json& content() const { return content_; }

private:
  std::filesystem::path file_;
  json content_;
};

} // namespace troupe::runtime::model
