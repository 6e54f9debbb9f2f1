// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/prompt_rows.hpp"

#include "protocols/failure.hpp"
#include "runtime/data/file_list.hpp"
#include "runtime/data/line_reader.hpp"

#include <nlohmann/json.hpp>

namespace troupe::runtime::data {

using protocols::errc;
using protocols::failure;

namespace {

using json = nlohmann::json;

constexpr std::size_t max_reasons = 10;

/// Without the parser's own names, and its line: a row is one.
std::string reason_of(const json::exception& error) {
  const std::string text = error.what();
  for (const auto* start : {"column ", "] "})
    if (const auto at = text.find(start); at != std::string::npos)
      return text.substr(*start == ']' ? at + 2 : at);
  return text;
}

/// The field of that name, or what "a.b" leads to.
const json* find_field(const json& row, const std::string& field) {
  if (const auto found = row.find(field); found != row.end())
    return &*found;
  const auto dot = field.find('.');
  if (dot == std::string::npos)
    return nullptr;
  const auto outer = row.find(field.substr(0, dot));
  return outer != row.end() && outer->is_object()
           ? find_field(*outer, field.substr(dot + 1))
           : nullptr;
}

std::string text_of(const json& row, const std::string& field) {
  const auto* found = find_field(row, field);
  if (found == nullptr)
    throw bad_row{"field \"" + field
                  + "\" is missing; name another field, or add it"};
  if (found->is_string())
    return found->get<std::string>();
  if (found->is_number())
    return found->dump();
  throw bad_row{"field \"" + field + "\" is " + found->type_name()
                + "; allowed: text or a number"};
}

prompt_row parse_row(const std::string& text,
                     const config::data_source_block& source) {
  json row;
  try {
    row = json::parse(text); // refuses ill-formed UTF-8, too
  } catch (const json::exception& error) {
    throw bad_row{"no JSON: " + reason_of(error)};
  }
  if (!row.is_object())
    throw bad_row{std::string{"the line is "} + row.type_name()
                  + "; allowed: an object"};
  prompt_row out;
  out.prompt = text_of(row, source.prompt_field);
  if (!source.answer_field.empty())
    out.answer = text_of(row, source.answer_field);
  if (out.prompt.empty())
    throw bad_row{"field \"" + source.prompt_field
                  + "\" is empty; allowed: text of at least one character"};
  return out;
}

std::string join_lines(std::string text, const std::vector<std::string>& more) {
  for (const auto& line : more)
    text += "\n  " + line;
  return text;
}

std::string name_of(const std::vector<std::string>& paths,
                    std::size_t num_files) {
  std::string out;
  for (const auto& path : paths)
    out += (out.empty() ? "" : ", ") + path;
  return num_files == 1 && paths.size() == 1
           ? out
           : out + " (" + std::to_string(num_files) + " files)";
}

} // namespace

prompt_rows::prompt_rows(const config::data_source_block& source,
                         const std::filesystem::path& spool_folder)
  : source_(source), store_(spool_folder) {}

prompt_rows prompt_rows::read(const config::data_source_block& source,
                              const read_options& options) {
  prompt_rows out{source, options.spool_folder};
  const auto files = files_of(source.file);
  out.name_ = name_of(source.file, files.size());
  for (const auto& path : files)
    out.read_file(path, options);
  out.store_.finish();
  if (out.size() == 0)
    throw failure{
      errc::data_empty,
      join_lines(out.name_ + ": no row is left: 0 kept, "
                   + std::to_string(out.num_dropped_)
                   + " dropped; allowed: at least one row with "
                   + (source.answer_field.empty()
                        ? "the field \"" + source.prompt_field + '"'
                        : "the fields \"" + source.prompt_field + "\" and \""
                            + source.answer_field + '"'),
                 out.first_dropped_)};
  return out;
}

void prompt_rows::read_file(const std::string& path,
                            const read_options& options) {
  const auto opened = open_data_file(path);
  if (opened.kind == file_kind::plain)
    store_.open(path);
  line_reader lines{*opened.bytes};
  for (text_line line; lines.next(line);) {
    if (line.text.find_first_not_of(" \t\r") == std::string::npos)
      continue;
    const auto place = path + ':' + std::to_string(line.number);
    try {
      if (line.is_too_long)
        throw bad_row{"the line has more than "
                      + std::to_string(max_line_bytes >> 20) + " MiB"};
      const auto row = parse_row(line.text, source_);
      if (options.check)
        options.check(row, place);
    } catch (const bad_row& bad) {
      drop(place, bad.reason, options);
      continue;
    }
    if (opened.kind == file_kind::plain)
      store_.refer_to(line.offset);
    else
      store_.spool(line.text);
  }
}

void prompt_rows::drop(const std::string& place, const std::string& reason,
                       const read_options& options) {
  const auto text = place + ": " + reason;
  if (options.on_bad_row == "stop")
    throw failure{errc::data_bad_row, text + " (or data.on_bad_row: skip)"};
  ++num_dropped_;
  if (first_dropped_.size() < max_reasons)
    first_dropped_.push_back(text);
}

prompt_row prompt_rows::row(std::size_t index) const {
  try {
    return parse_row(store_.line(index), source_);
  } catch (const bad_row& bad) {
    throw_unreadable(store_.file_of(index),
                     "it was changed while the job runs: row "
                       + std::to_string(index + 1) + ": " + bad.reason);
  }
}

std::string prompt_rows::describe() const {
  return join_lines(name_ + ": " + std::to_string(size()) + " rows kept, "
                      + std::to_string(num_dropped_) + " dropped",
                    first_dropped_);
}

} // namespace troupe::runtime::data
