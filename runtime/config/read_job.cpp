// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/read_job.hpp"

#include "protocols/failure.hpp"
#include "runtime/config/check_job.hpp"
#include "runtime/config/job_document.hpp"
#include "runtime/config/key_table.hpp"
#include "runtime/config/read_value.hpp"
#include "runtime/tokenizer/utf8.hpp"

#include <cerrno>
#include <fstream>
#include <iterator>
#include <system_error>

namespace troupe::runtime::config {

using protocols::errc;
using protocols::failure;

namespace fs = std::filesystem;

namespace {

/// A device that never ends is no job file.
constexpr std::size_t max_job_bytes = std::size_t{16} << 20;

/// Names the first line that is no UTF-8.
void check_utf8(std::string_view text, const std::string& place) {
  if (tokenizer::is_utf8(text))
    return;
  std::size_t line = 1;
  for (std::size_t end = 0; (end = text.find('\n')) != std::string_view::npos
                            && tokenizer::is_utf8(text.substr(0, end));
       text.remove_prefix(end + 1))
    ++line;
  throw failure{errc::config_unreadable,
                place + ':' + std::to_string(line)
                  + ": no UTF-8; save the file as UTF-8 text"};
}

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
  std::error_code error;
  const auto here = fs::current_path(error);
  if (error)
    throw failure{errc::config_unreadable,
                  "the current folder cannot be read: " + error.message()
                    + "; change into one that exists"};
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
  std::error_code error;
  if (fs::is_directory(file, error))
    throw failure{errc::config_unreadable,
                  file.string() + ": is a folder; name a job file"};
  std::ifstream in{file, std::ios::binary};
  std::string text;
  if (in) {
    text.resize(max_job_bytes + 1);
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(in.gcount()));
  }
  if (!in.eof() && text.size() <= max_job_bytes)
    throw failure{errc::config_unreadable,
                  file.string() + ": cannot be read: "
                    + std::generic_category().message(errno)
                    + "; name a job file"};
  if (text.size() > max_job_bytes)
    throw failure{errc::config_unreadable,
                  file.string() + ": has more than "
                    + std::to_string(max_job_bytes >> 20)
                    + " MiB, too much for a job file"};
  return read_job_text(text, file, overrides);
}

job_config read_job_text(std::string_view text, const fs::path& file,
                         std::span<const std::string> overrides) {
  check_utf8(text, file.string());
  for (const auto& one : overrides)
    if (!tokenizer::is_utf8(one))
      throw failure{errc::config_unreadable,
                    "command line: " + tokenizer::to_valid_utf8(one)
                      + ": no UTF-8"};
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
