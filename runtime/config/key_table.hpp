// SPDX-License-Identifier: Apache-2.0
//
// The one list of YAML keys. Reading, the checks, the resolved file and
// docs/configuration.md all come from it: a new key is a member of job_config
// and a row here.
#pragma once

#include "runtime/config/job_config.hpp"

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace troupe::runtime::config {

/// A member of a job; monostate: its optional block is absent.
using key_member =
  std::variant<std::monostate, bool*, std::int64_t*, std::uint64_t*, double*,
               std::string*, std::vector<std::int64_t>*,
               std::vector<std::string>*>;

/// When a key has an effect. `when` reads on after "only with".
struct key_effect {
  std::string when;
  std::function<bool(const job_config&)> holds;
};

/// Where a relative path starts; a path on the command line always starts at
/// the current folder.
enum class path_base : std::uint8_t { no_path, job_folder, current_folder };

enum class presence : std::uint8_t { optional, required };

/// What is allowed. Numbers: [min, max], or without an end that is `open`.
struct key_facts {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool open_min = false, open_max = false;
  std::vector<std::string_view> choices = {}; ///< of text; empty: any
  path_base base = path_base::no_path;
  presence need = presence::optional; ///< inside an optional block: if there
  std::string_view inherits = {};     ///< key whose value is the default
};

struct key_row {
  std::string path; ///< dotted
  std::function<key_member(job_config&)> member;
  key_facts facts;
  std::string doc;
  std::vector<key_effect> effects; ///< all must hold
};

/// Returns the rows; a key comes after the one that it inherits from.
const std::vector<key_row>& key_table();

/// Returns nullptr for an unknown key.
const key_row* find_key(std::string_view path);

/// True for "train", "train.optimizer", ...
bool is_block(std::string_view path);

/// Returns the keys and blocks right below a block ("": the whole file).
std::vector<std::string> keys_of(std::string_view block);

/// Returns a job with defaults and with all optional blocks.
job_config job_of_defaults();

/// Returns what is allowed, as in "a number above 0, at most 1".
std::string allowed_values(const key_row& row);

/// Returns the member's value as YAML; "" if it is empty or absent.
std::string value_text(const key_row& row, const job_config& job);

/// Returns the first effect that does not hold, or nullptr.
const key_effect* missing_effect(const key_row& row, const job_config& job);

} // namespace troupe::runtime::config
