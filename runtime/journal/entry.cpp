// SPDX-License-Identifier: Apache-2.0
#include "runtime/journal/entry.hpp"

#include "runtime/json_reason.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>

namespace troupe::runtime::journal {

namespace {

using json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 7> cause_words{
  "", "message", "timeout", "down", "operator", "signal", "rule"};

json to_json(const detail_value& value) {
  return std::visit(
    [](const auto& held) -> json {
      if constexpr (std::is_same_v<std::decay_t<decltype(held)>, double>) {
        if (std::isnan(held))
          return "nan";
        if (std::isinf(held))
          return held > 0 ? "inf" : "-inf";
      }
      return held;
    },
    value);
}

detail_value from_json(const json& value) {
  if (value.is_boolean())
    return value.get<bool>();
  if (value.is_number_unsigned())
    return value.get<std::uint64_t>();
  if (value.is_number_integer())
    return value.get<std::int64_t>();
  if (value.is_number_float())
    return value.get<double>();
  if (value.is_string())
    return value.get<std::string>();
  return value.dump();
}

std::string utc_text(std::int64_t realtime_ns) {
  const std::time_t seconds = realtime_ns / 1'000'000'000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 40> buffer{};
  const auto length =
    std::strftime(buffer.data(), buffer.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(buffer.data() + length, buffer.size() - length, ".%09lldZ",
                static_cast<long long>(realtime_ns % 1'000'000'000));
  return buffer.data();
}

/// Throws json exceptions or std::string for what is no time.
std::int64_t utc_ns(const std::string& text) {
  std::tm parts{};
  const char* rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  long long nanoseconds = 0;
  if (rest == nullptr || std::sscanf(rest, ".%9lldZ", &nanoseconds) != 1)
    throw std::string{"t is no UTC time: " + text};
  return std::int64_t{::timegm(&parts)} * 1'000'000'000 + nanoseconds;
}

cause_type cause_of(const std::string& word) {
  for (std::size_t i = 1; i < cause_words.size(); ++i)
    if (cause_words[i] == word)
      return static_cast<cause_type>(i);
  throw std::string{"unknown cause type " + word};
}

template <class T>
void read_optional(const json& object, const char* key, std::optional<T>& to) {
  if (const auto it = object.find(key); it != object.end())
    to = it->template get<T>();
}

entry entry_of(const json& object) {
  entry r;
  object.at("v").get_to(r.v);
  if (r.v != 1)
    throw std::string{"record version " + std::to_string(r.v)
                      + ", this program reads 1"};
  object.at("run").get_to(r.run);
  object.at("proc").get_to(r.process);
  object.at("inc").get_to(r.incarnation);
  object.at("seq").get_to(r.seq);
  r.realtime_ns = utc_ns(object.at("t").get<std::string>());
  object.at("mono").get_to(r.mono_ns);
  auto& what = r.what;
  object.at("kind").get_to(what.kind);
  object.at("subj").get_to(what.subject);
  object.at("from").get_to(what.from);
  object.at("to").get_to(what.to);
  object.at("event").get_to(what.event);
  if (const auto it = object.find("cause"); it != object.end()) {
    what.because.type = cause_of(it->at("type").get<std::string>());
    what.because.ref = it->value("ref", "");
    what.because.by = it->value("by", "");
  }
  read_optional(object, "step", what.step);
  read_optional(object, "ver", what.policy_version);
  read_optional(object, "epoch", what.job_epoch);
  if (const auto it = object.find("d"); it != object.end())
    for (const auto& [key, value] : it->items())
      what.d.emplace_back(key, from_json(value));
  return r;
}

} // namespace

std::string_view to_string(cause_type type) {
  return cause_words.at(static_cast<std::size_t>(type));
}

std::string reference(std::string_view process, std::uint64_t incarnation,
                      std::uint64_t seq) {
  std::string text{process};
  if (incarnation > 1)
    text += ":" + std::to_string(incarnation);
  return text + "/" + std::to_string(seq);
}

std::string reference(const entry& r) {
  return reference(r.process, r.incarnation, r.seq);
}

std::string to_line(const entry& r) {
  const auto& what = r.what;
  json object{{"v", r.v},
              {"run", r.run},
              {"proc", r.process},
              {"inc", r.incarnation},
              {"seq", r.seq},
              {"t", utc_text(r.realtime_ns)},
              {"mono", r.mono_ns},
              {"kind", what.kind},
              {"subj", what.subject},
              {"from", what.from},
              {"to", what.to},
              {"event", what.event}};
  if (what.because.type != cause_type::none) {
    json cause{{"type", to_string(what.because.type)}};
    if (!what.because.ref.empty())
      cause["ref"] = what.because.ref;
    if (!what.because.by.empty())
      cause["by"] = what.because.by;
    object["cause"] = std::move(cause);
  }
  if (what.step)
    object["step"] = *what.step;
  if (what.policy_version)
    object["ver"] = *what.policy_version;
  if (what.job_epoch)
    object["epoch"] = *what.job_epoch;
  if (!what.d.empty()) {
    json d = json::object();
    for (const auto& [key, value] : what.d)
      d[key] = to_json(value);
    object["d"] = std::move(d);
  }
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::variant<entry, std::string> parse_line(std::string_view line) {
  try {
    return entry_of(json::parse(line));
  } catch (const json::exception& error) {
    return json_reason(error);
  } catch (std::string& reason) {
    return std::move(reason);
  }
}

} // namespace troupe::runtime::journal
