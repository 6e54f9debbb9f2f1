// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/prompt_rows.hpp"

#include "protocols/failure.hpp"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace troupe::runtime::data {

using protocols::errc;
using protocols::failure;

namespace {

using json = nlohmann::json;

constexpr std::size_t max_reasons = 10;

/// Why a line is no row.
struct bad_row {
  std::string reason;
};

/// Without the parser's own names, and its line: a row is one.
std::string reason_of(const json::exception& error) {
  const std::string text = error.what();
  for (const auto* start : {"column ", "] "})
    if (const auto at = text.find(start); at != std::string::npos)
      return text.substr(*start == ']' ? at + 2 : at);
  return text;
}

std::string text_of(const json& row, const std::string& field) {
  const auto found = row.find(field);
  if (found == row.end())
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

} // namespace

std::string prompt_rows::describe() const {
  return join_lines(file + ": " + std::to_string(rows.size()) + " rows kept, "
                      + std::to_string(num_dropped) + " dropped",
                    first_dropped);
}

prompt_rows read_prompt_rows(const config::data_source_block& source,
                             const std::string& on_bad_row) {
  const auto unreadable = [&source](const std::string& why) {
    return failure{errc::data_unreadable,
                   source.file + ": cannot be read: " + why
                     + "; data.*.file names a JSONL file"};
  };
  std::ifstream in;
  std::error_code error;
  const auto status = std::filesystem::status(source.file, error);
  if (std::filesystem::exists(status)
      && !std::filesystem::is_regular_file(status))
    // A pipe may never be written to, a device never ends.
    throw unreadable(std::filesystem::is_directory(status)
                       ? "it is a folder"
                       : "it is a pipe or a device, no file");
  in.open(source.file, std::ios::binary);
  if (!in)
    throw unreadable(std::generic_category().message(errno));
  prompt_rows out;
  out.file = source.file;
  std::string text;
  for (std::int64_t line = 1; std::getline(in, text); ++line) {
    if (text.find_first_not_of(" \t\r") == std::string::npos)
      continue;
    try {
      out.rows.push_back(parse_row(text, source));
      out.rows.back().line = line;
    } catch (const bad_row& bad) {
      const auto full =
        source.file + ':' + std::to_string(line) + ": " + bad.reason;
      if (on_bad_row == "stop")
        throw failure{errc::data_bad_row, full + " (or data.on_bad_row: skip)"};
      ++out.num_dropped;
      if (out.first_dropped.size() < max_reasons)
        out.first_dropped.push_back(full);
    }
  }
  if (in.bad())
    throw unreadable(std::generic_category().message(errno));
  if (out.rows.empty())
    throw failure{
      errc::data_empty,
      join_lines(source.file + ": no row is left: 0 kept, "
                   + std::to_string(out.num_dropped)
                   + " dropped; allowed: at least one row with "
                   + (source.answer_field.empty()
                        ? "the field \"" + source.prompt_field + '"'
                        : "the fields \"" + source.prompt_field + "\" and \""
                            + source.answer_field + '"'),
                 out.first_dropped)};
  return out;
}

} // namespace troupe::runtime::data
