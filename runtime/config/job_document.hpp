// SPDX-License-Identifier: Apache-2.0
//
// A job file and its overrides as a flat list of known keys, each with its
// value and the place that error texts name. Not yet a job: values are
// unchecked.
#pragma once

#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace troupe::runtime::config {

enum class value_source : std::uint8_t { file, command_line };

struct key_value {
  YAML::Node node;
  std::string place; ///< "job.yaml:3" or "command line: key=value"
  value_source source = value_source::file;
};

class job_document {
public:
  /// Errors: config_unreadable, config_unknown_key, config_wrong_type,
  /// config_conflict (a key twice).
  job_document(std::string_view text, const std::filesystem::path& file,
               std::span<const std::string> overrides);

  /// Returns nullptr if the key is not given.
  [[nodiscard]] const key_value* find(const std::string& path) const;

  /// True if the block, or a key in it, is given.
  [[nodiscard]] bool has_block(const std::string& path) const;

  /// Returns the place of the key, otherwise of the nearest block around it
  /// that is given, otherwise the file.
  [[nodiscard]] std::string place_of(const std::string& path) const;

  [[nodiscard]] const std::map<std::string, key_value>& values() const {
    return values_;
  }

private:
  void walk(const YAML::Node& block, const std::string& path);
  void check_tags(const YAML::Node& value, const std::string& key) const;
  void override_with(const std::string& text);

  std::string file_;
  std::map<std::string, key_value> values_;   ///< by dotted key
  std::map<std::string, std::string> blocks_; ///< place by dotted path
};

} // namespace troupe::runtime::config
