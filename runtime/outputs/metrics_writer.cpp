// SPDX-License-Identifier: Apache-2.0
#include "runtime/outputs/metrics_writer.hpp"

#include "protocols/failure.hpp"
#include "runtime/json_reason.hpp"
#include "runtime/outputs/metric_keys.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <fstream>
#include <limits>
#include <set>

namespace troupe::runtime::outputs {

using protocols::errc;
using protocols::failure;

namespace {

constexpr std::array stages{stage::warmup, stage::train, stage::eval};

void check_keys(const metric_record& record) {
  std::set<std::string_view> seen;
  for (const auto& one : record.metrics) {
    if (find_metric_key(one.key) == nullptr)
      throw failure{errc::internal,
                    "metric \"" + one.key
                      + "\" is not listed in runtime/outputs/metric_keys.hpp"};
    if (!seen.insert(one.key).second)
      throw failure{errc::internal, "metric \"" + one.key
                                      + "\" is twice in the record of step "
                                      + std::to_string(record.step)};
  }
}

double number_of(const nlohmann::json& value) {
  constexpr auto infinity = std::numeric_limits<double>::infinity();
  if (value == "nan")
    return std::numeric_limits<double>::quiet_NaN();
  if (value == "inf")
    return infinity;
  if (value == "-inf")
    return -infinity;
  return value.get<double>();
}

metric_record parse_record(const std::string& line) {
  const auto json = nlohmann::ordered_json::parse(line);
  metric_record out;
  out.step = json.at("step").get<std::int64_t>();
  const auto about = json.at("stage").get<std::string>();
  for (const auto value : stages)
    if (to_string(value) == about)
      out.about = value;
  for (const auto& [key, value] : json.items())
    if (key != "step" && key != "stage")
      out.metrics.push_back({key, number_of(value)});
  return out;
}

} // namespace

std::string_view to_string(stage value) {
  switch (value) {
  case stage::warmup: return "warmup";
  case stage::train: return "train";
  case stage::eval: return "eval";
  }
  return "unknown";
}

std::string to_json(const metric_record& record) {
  // Keys need no escapes: metric_keys.hpp lists none that would.
  auto out = "{\"step\":" + std::to_string(record.step) + ",\"stage\":\""
             + std::string{to_string(record.about)} + '"';
  for (const auto& one : record.metrics)
    out += ",\"" + one.key + "\":" + json_number(one.value);
  return out + '}';
}

void metrics_writer::write(const metric_record& record) {
  check_keys(record);
  if (record.step < last_step_)
    throw failure{errc::internal,
                  "metrics of step " + std::to_string(record.step)
                    + " after those of step " + std::to_string(last_step_)};
  file_.append(to_json(record));
  last_step_ = record.step;
}

std::vector<metric_record> read_metrics(const std::filesystem::path& path) {
  std::ifstream in{path, std::ios::binary};
  if (!in)
    throw failure{errc::data_unreadable, path.string()
                                           + ": cannot be opened; a run "
                                             "directory has one"};
  std::vector<metric_record> out;
  std::string line;
  while (std::getline(in, line) && !in.eof()) {
    try {
      out.push_back(parse_record(line));
    } catch (const nlohmann::json::exception& error) {
      throw failure{errc::data_unreadable,
                    path.string() + ':' + std::to_string(out.size() + 1)
                      + ": no record: " + json_reason(error)};
    }
  }
  return out;
}

} // namespace troupe::runtime::outputs
