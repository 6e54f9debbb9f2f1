// SPDX-License-Identifier: Apache-2.0
#include "runtime/outputs/run_summary.hpp"

#include "protocols/failure.hpp"
#include "runtime/checkpoint/file_io.hpp"
#include "runtime/json_reason.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>
#include <limits>

namespace troupe::runtime::outputs {

namespace {

using json = nlohmann::ordered_json;

json number_or_text(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value > 0 ? "inf" : "-inf";
  return value;
}

double number_of(const json& value) {
  constexpr auto infinity = std::numeric_limits<double>::infinity();
  if (!value.is_string())
    return value.get<double>();
  if (value == "nan")
    return std::numeric_limits<double>::quiet_NaN();
  return value == "-inf" ? -infinity : infinity;
}

} // namespace

std::string to_json(const run_summary& summary) {
  json metrics = json::object();
  for (const auto& [key, value] : summary.metrics)
    metrics[key] = number_or_text(value);
  json data = json::object();
  for (const auto& [split, counts] : summary.data)
    data[split] = {{"rows_kept", counts.rows_kept},
                   {"rows_dropped", counts.rows_dropped}};
  const json out{{"status", summary.status},
                 {"exit_code", summary.exit_code},
                 {"reason", summary.reason},
                 {"causes", summary.causes},
                 {"warnings", summary.warnings},
                 {"steps", summary.steps},
                 {"policy_version", summary.policy_version},
                 {"wall_seconds", number_or_text(summary.wall_seconds)},
                 {"checkpoint", summary.checkpoint},
                 {"final_model", summary.final_model},
                 {"data", data},
                 {"metrics", metrics}};
  return out.dump(2, ' ', false, json::error_handler_t::replace) + '\n';
}

void write_summary(const std::filesystem::path& path,
                   const run_summary& summary) {
  checkpoint::replace_file(path, to_json(summary));
}

run_summary read_summary(const std::filesystem::path& path) {
  try {
    std::ifstream in{path};
    const auto in_file = json::parse(in);
    run_summary out;
    in_file.at("status").get_to(out.status);
    in_file.at("exit_code").get_to(out.exit_code);
    in_file.at("reason").get_to(out.reason);
    in_file.at("causes").get_to(out.causes);
    in_file.at("warnings").get_to(out.warnings);
    in_file.at("steps").get_to(out.steps);
    in_file.at("policy_version").get_to(out.policy_version);
    out.wall_seconds = number_of(in_file.at("wall_seconds"));
    in_file.at("checkpoint").get_to(out.checkpoint);
    in_file.at("final_model").get_to(out.final_model);
    for (const auto& [split, counts] : in_file.at("data").items())
      out.data[split] = {counts.at("rows_kept").get<std::int64_t>(),
                         counts.at("rows_dropped").get<std::int64_t>()};
    for (const auto& [key, value] : in_file.at("metrics").items())
      out.metrics[key] = number_of(value);
    return out;
  } catch (const json::exception& error) {
    throw protocols::failure{
      protocols::errc::data_unreadable,
      path.string() + ": no summary of a run: " + json_reason(error)};
  }
}

} // namespace troupe::runtime::outputs
