// SPDX-License-Identifier: Apache-2.0
#include "runtime/outputs/record_file.hpp"

#include "protocols/failure.hpp"

#include <nlohmann/json.hpp>

#include <charconv>
#include <cmath>
#include <fstream>
#include <span>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace troupe::runtime::outputs {

namespace fs = std::filesystem;

namespace {

/// Cuts first, as the descriptor appends from then on.
checkpoint::file_handle open_for_append(const fs::path& path,
                                        std::optional<std::int64_t> step) {
  if (step)
    truncate_records(path, *step);
  return {path, O_WRONLY | O_CREAT | O_APPEND};
}

std::int64_t step_of(const std::string& line, const fs::path& path,
                     std::int64_t line_number) {
  const auto record = nlohmann::json::parse(line, nullptr, false);
  const auto* step =
    record.is_object() && record.contains("step") ? &record["step"] : nullptr;
  if (step == nullptr || !step->is_number_integer())
    throw protocols::failure{
      protocols::errc::checkpoint_corrupt,
      path.string() + ':' + std::to_string(line_number)
        + ": no record: " + line.substr(0, 80)
        + "; allowed: a JSON object with \"step\"; take the line out to "
          "resume"};
  return step->get<std::int64_t>();
}

} // namespace

std::string json_number(double value) {
  if (std::isnan(value))
    return "\"nan\"";
  if (std::isinf(value))
    return value > 0 ? "\"inf\"" : "\"-inf\"";
  if (value == 0 && std::signbit(value))
    return "-0.0"; // "-0" would read back as an integer
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

record_file::record_file(fs::path path,
                         std::optional<std::int64_t> resumed_step)
  : path_(std::move(path)), file_(open_for_append(path_, resumed_step)) {}

void record_file::append(std::string record) {
  record += '\n';
  const auto size = ::lseek(file_.fd(), 0, SEEK_END);
  try {
    checkpoint::write_all(file_, std::as_bytes(std::span{record}), path_);
  } catch (const protocols::failure&) {
    // A part of a line would spoil the next record. If this fails as well, a
    // resume still finds a torn line at the end.
    [[maybe_unused]] const int cut = ::ftruncate(file_.fd(), size);
    throw;
  }
}

std::int64_t truncate_records(const fs::path& path, std::int64_t last_step) {
  std::ifstream in{path, std::ios::binary};
  if (!in)
    return 0;
  std::int64_t num_kept = 0;
  std::uintmax_t size = 0;
  std::string line;
  while (std::getline(in, line) && !in.eof()
         && step_of(line, path, num_kept + 1) <= last_step) {
    size += line.size() + 1;
    ++num_kept;
  }
  if (::truncate(path.c_str(), static_cast<::off_t>(size)) != 0)
    checkpoint::throw_errno("truncate", path);
  return num_kept;
}

} // namespace troupe::runtime::outputs
