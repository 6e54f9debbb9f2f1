// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/file_list.hpp"

#include "protocols/failure.hpp"
#include "runtime/data/byte_stream.hpp"

#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

namespace troupe::runtime::data {

namespace fs = std::filesystem;
using protocols::errc;
using protocols::failure;

namespace {

bool is_jsonl_name(std::string_view name) {
  if (name.starts_with('.'))
    return false;
  for (const std::string_view packed : {".gz", ".zst"})
    if (name.ends_with(packed))
      name.remove_suffix(packed.size());
  return name.ends_with(".jsonl") || name.ends_with(".ndjson")
         || name.ends_with(".json");
}

std::vector<std::string> files_in(const std::string& folder) {
  constexpr std::size_t max_named = 5;
  std::vector<std::string> out, others;
  std::error_code error;
  for (fs::directory_iterator it{folder, error}, end; !error && it != end;
       it.increment(error)) {
    const auto name = it->path().filename().string();
    (is_jsonl_name(name) ? out : others).push_back(name);
  }
  if (error)
    throw_unreadable(folder, error.message());
  std::ranges::sort(out);
  std::ranges::sort(others);
  for (auto& name : out)
    name = (fs::path{folder} / name).string();
  if (!out.empty())
    return out;
  std::string found;
  for (std::size_t i = 0; i < std::min(max_named, others.size()); ++i)
    found += (i > 0 ? ", " : "") + others[i];
  for (const auto& name : others)
    if (name.ends_with(".parquet"))
      (void)open_data_file((fs::path{folder} / name).string()); // says why not
  throw_unreadable(folder,
                   "the folder has no .jsonl, .jsonl.gz or .jsonl.zst"
                     + (found.empty() ? ", it is empty" : "; it has " + found));
}

std::vector<std::string> files_like(const std::string& pattern) {
  ::glob_t found{};
  const auto code = ::glob(pattern.c_str(), GLOB_ERR, nullptr, &found);
  std::vector<std::string> out{found.gl_pathv, found.gl_pathv + found.gl_pathc};
  ::globfree(&found);
  if (code == GLOB_NOMATCH || (code == 0 && out.empty()))
    throw_unreadable(pattern, "no file matches the pattern");
  if (code != 0)
    throw_unreadable(pattern, "a folder of the pattern cannot be read");
  std::ranges::sort(out); // by bytes, in any locale
  return out;
}

} // namespace

std::vector<std::string> files_of(std::span<const std::string> paths) {
  std::vector<std::string> out;
  for (const auto& path : paths) {
    std::error_code error;
    if (fs::is_directory(path, error)) {
      const auto files = files_in(path);
      out.insert(out.end(), files.begin(), files.end());
    } else if (path.find_first_of("*?[") != std::string::npos
               && !fs::exists(path, error)) {
      const auto files = files_of(files_like(path));
      out.insert(out.end(), files.begin(), files.end());
    } else {
      out.push_back(path);
    }
  }
  return out;
}

} // namespace troupe::runtime::data
