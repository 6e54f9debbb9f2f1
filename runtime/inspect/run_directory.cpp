// SPDX-License-Identifier: Apache-2.0
//
// Which run directory a command without one means.
#include "protocols/failure.hpp"
#include "runtime/inspect/views.hpp"

#include <algorithm>

#include <sys/stat.h>

namespace troupe::runtime::inspect {

namespace {

namespace fs = std::filesystem;

constexpr int search_depth = 3;
/// Enough for any folder of runs; a search in "/" ends, too.
constexpr int max_folders = 2000;

struct search {
  fs::path best;
  timespec newest{};
  int num_folders = 0;

  /// Returns true if `dir` is a run directory; when it began is when its
  /// folder of cards last got a file.
  bool visit(const fs::path& dir) {
    bool found = false;
    for (const auto* name : {"cards", "journal"}) {
      struct stat info {};
      if (::stat((dir / name).c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
        continue;
      found = true;
      const auto& t = info.st_mtim;
      if (best.empty() || t.tv_sec > newest.tv_sec
          || (t.tv_sec == newest.tv_sec && t.tv_nsec > newest.tv_nsec)) {
        best = dir;
        newest = t;
      }
    }
    return found;
  }

  void descend(const fs::path& dir, int depth) {
    if (++num_folders > max_folders || visit(dir) || depth == 0)
      return;
    std::error_code error;
    fs::directory_iterator entry{dir, error}, end;
    while (!error && entry != end) {
      std::error_code ignored; // a folder that vanished is no run
      if (entry->path().filename().native().front() != '.'
          && !entry->is_symlink(ignored) && entry->is_directory(ignored))
        descend(entry->path(), depth - 1);
      entry.increment(error);
    }
  }
};

} // namespace

fs::path find_run_directory(const std::optional<fs::path>& given) {
  using protocols::errc;
  using protocols::failure;
  std::error_code error;
  const auto from = given ? fs::absolute(*given, error).lexically_normal()
                          : fs::current_path(error);
  if (given) {
    if (!fs::is_directory(from, error))
      throw failure{errc::io_failed, "no folder " + from.string()};
    search one;
    if (!one.visit(from))
      throw failure{errc::io_failed,
                    from.string()
                      + " is no run directory: neither cards/ nor journal/ "
                        "is in it"};
    return *given;
  }
  search all;
  all.descend(from, search_depth);
  if (all.best.empty())
    throw failure{
      errc::io_failed,
      "no run found in " + from.string() + " (searched "
        + std::to_string(std::min(all.num_folders, max_folders)) + " folders, "
        + std::to_string(search_depth)
        + " levels down, for cards/ or journal/); name the run directory, "
          "as in: troupe inspect actors DIR"};
  return all.best;
}

} // namespace troupe::runtime::inspect
