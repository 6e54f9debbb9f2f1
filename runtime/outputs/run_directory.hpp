// SPDX-License-Identifier: Apache-2.0
//
// The folder that a job leaves behind (DESIGN section 10), and the lock that
// keeps a second job out of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace troupe::runtime::outputs {

/// Names below run.directory.
namespace layout {
inline constexpr std::string_view resolved = "resolved.yaml";
inline constexpr std::string_view metrics = "metrics.jsonl";
inline constexpr std::string_view rollouts = "rollouts.jsonl";
inline constexpr std::string_view summary = "summary.json";
inline constexpr std::string_view lock = "lock";
inline constexpr std::string_view tensorboard = "tensorboard";
inline constexpr std::string_view journal = "journal";
inline constexpr std::string_view cards = "cards";
inline constexpr std::string_view logs = "logs";
inline constexpr std::string_view checkpoints = "checkpoints";
inline constexpr std::string_view final_model = "final";
} // namespace layout

enum class open_mode : std::uint8_t {
  fresh,  ///< refused if a run with results is there already
  resume, ///< refused if none is there
};

/// Holds the lock as long as it lives, in this process and its forks.
class run_directory {
public:
  /// Makes the folder and its subfolders, takes the lock and writes this
  /// process's id into it. Does not block.
  /// Errors: config_conflict (another job holds the lock: its pid; or fresh
  /// over a run), checkpoint_absent (resume without a run), io_failed.
  static run_directory open(const std::filesystem::path& directory,
                            open_mode mode);

  run_directory(run_directory&& other) noexcept;
  run_directory& operator=(run_directory&&) = delete;
  ~run_directory();

  [[nodiscard]] const std::filesystem::path& path() const noexcept {
    return path_;
  }

  /// Returns the path of one of the names in `layout`.
  [[nodiscard]] std::filesystem::path operator/(std::string_view name) const {
    return path_ / name;
  }

  /// Writes resolved.yaml.
  void write_resolved(std::string_view yaml) const;

private:
  run_directory(std::filesystem::path path, int lock_fd)
    : path_(std::move(path)), lock_fd_(lock_fd) {}

  std::filesystem::path path_;
  int lock_fd_ = -1;
};

} // namespace troupe::runtime::outputs
