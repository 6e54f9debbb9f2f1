// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/read_job.hpp"

#include "protocols/failure.hpp"
#include "runtime/config/check_job.hpp"
#include "runtime/config/job_document.hpp"
#include "runtime/config/key_table.hpp"
#include "runtime/config/read_value.hpp"

#include <cerrno>
#include <fstream>
#include <iterator>
#include <system_error>

namespace troupe::runtime::config {

using protocols::errc;
using protocols::failure;

namespace fs = std::filesystem;

namespace {

/// Makes the row's path, or each of its list, absolute.
void make_absolute(const key_row& row, const fs::path& start, job_config& job) {
  const auto absolute = [&start](std::string& path) {
    if (!path.empty())
      path = (start / path).lexically_normal().string();
  };
  const auto member = row.member(job);
  if (auto* const* path = std::get_if<std::string*>(&member))
    absolute(**path);
  else if (auto* const* paths = std::get_if<std::vector<std::string>*>(&member))
    for (auto& path_of_one : **paths)
      absolute(path_of_one);
}

void inherit(const key_row& row, job_config& job) {
  const auto from = find_key(row.facts.inherits)->member(job);
  std::visit(
    [&from](auto to) {
      if constexpr (!std::is_same_v<decltype(to), std::monostate>)
        *to = *std::get<decltype(to)>(from);
    },
    row.member(job));
}

job_config fill_in(const job_document& document, const fs::path& file) {
  job_config job;
  job.source_file = file.string();
  if (document.has_block("model.fresh"))
    job.model.fresh.emplace();
  if (document.has_block("data.eval"))
    job.data.eval.emplace();
  const auto here = fs::current_path();
  const auto folder = fs::absolute(file).parent_path();
  for (const auto& row : key_table()) {
    if (const auto* value = document.find(row.path)) {
      read_value(row, *value, job);
      if (row.facts.base != path_base::no_path)
        make_absolute(row,
                      value->source == value_source::command_line
                          || row.facts.base == path_base::current_folder
                        ? here
                        : folder,
                      job);
    } else if (!row.facts.inherits.empty()) {
      inherit(row, job);
    }
  }
  return job;
}

} // namespace

job_config read_job(const fs::path& file,
                    std::span<const std::string> overrides) {
  if (fs::is_directory(file))
    throw failure{errc::config_unreadable,
                  file.string() + ": is a folder; name a job file"};
  std::ifstream in{file, std::ios::binary};
  if (!in)
    throw failure{errc::config_unreadable,
                  file.string() + ": cannot be read: "
                    + std::generic_category().message(errno)
                    + "; name a job file"};
  const std::string text{std::istreambuf_iterator<char>{in}, {}};
  return read_job_text(text, file, overrides);
}

job_config read_job_text(std::string_view text, const fs::path& file,
                         std::span<const std::string> overrides) {
  const job_document document{text, file, overrides};
  auto job = fill_in(document, file);
  check_job(job, document);
  return job;
}

std::string write_resolved(const job_config& job) {
  std::string out = "# The job with its defaults filled in; keys without "
                    "effect are left out.\n";
  std::string open; // the block that the last line was in
  for (const auto& row : key_table()) {
    const auto value = value_text(row, job);
    if (value.empty() || missing_effect(row, job) != nullptr)
      continue;
    std::size_t begin = 0;
    std::string indent;
    for (auto dot = row.path.find('.'); dot != std::string::npos;
         dot = row.path.find('.', begin)) {
      const auto block = row.path.substr(0, dot);
      if (!(open + '.').starts_with(block + '.'))
        out += indent + row.path.substr(begin, dot - begin) + ":\n";
      indent += "  ";
      begin = dot + 1;
    }
    open = row.path.substr(0, begin - 1);
    out += indent + row.path.substr(begin) + ": " + value + '\n';
  }
  return out;
}

} // namespace troupe::runtime::config
