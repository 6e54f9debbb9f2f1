// SPDX-License-Identifier: Apache-2.0
//
// What can be said about a row of the key table.
#include "runtime/config/key_table.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>

namespace troupe::runtime::config {

namespace {

template <class... Fs>
struct overloaded : Fs... {
  using Fs::operator()...;
};

template <class Number>
std::string number_text(Number value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return {buffer, end};
}

/// Text as a YAML scalar: JSON's double quotes are YAML's.
std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump();
}

template <class List, class Render>
std::string list_text(const List& list, Render render) {
  if (list.empty())
    return {};
  std::string out = "[";
  for (const auto& item : list)
    out += (out.size() > 1 ? ", " : "") + render(item);
  return out + "]";
}

std::string range_text(const key_facts& facts) {
  constexpr auto infinity = std::numeric_limits<double>::infinity();
  std::string out;
  if (facts.min != -infinity)
    out += (facts.open_min ? " above " : " from ") + number_text(facts.min);
  if (facts.max != infinity)
    out += (facts.open_max ? " to below " : " to ") + number_text(facts.max);
  else if (!out.empty() && !facts.open_min)
    out += " up";
  return out;
}

} // namespace

const key_row* find_key(std::string_view path) {
  for (const auto& row : key_table())
    if (row.path == path)
      return &row;
  return nullptr;
}

bool is_block(std::string_view path) {
  return std::ranges::any_of(key_table(), [path](const key_row& row) {
    return row.path.size() > path.size() && row.path.starts_with(path)
           && row.path[path.size()] == '.';
  });
}

std::vector<std::string> keys_of(std::string_view block) {
  const auto prefix = block.empty() ? std::string{} : std::string{block} + '.';
  std::vector<std::string> out;
  for (const auto& row : key_table())
    if (row.path.starts_with(prefix)) {
      auto name = row.path.substr(
        prefix.size(), row.path.find('.', prefix.size()) - prefix.size());
      if (std::ranges::find(out, name) == out.end())
        out.push_back(std::move(name));
    }
  return out;
}

job_config job_of_defaults() {
  job_config job;
  job.model.fresh.emplace();
  job.data.eval.emplace();
  return job;
}

std::string allowed_values(const key_row& row) {
  if (!row.facts.choices.empty()) {
    std::string out = "one of";
    for (const auto choice : row.facts.choices)
      out += (out.size() > 6 ? ", " : " ") + std::string{choice};
    return out;
  }
  auto job = job_of_defaults();
  const auto range = range_text(row.facts);
  return std::visit(
    overloaded{
      [](std::monostate) { return std::string{}; },
      [](bool*) { return std::string{"true or false"}; },
      [&](std::int64_t*) { return "a whole number" + range; },
      [](std::uint64_t*) {
        return std::string{"a whole number from 0 to 18446744073709551615"};
      },
      [&](double*) { return "a number" + range; },
      [](std::string*) { return std::string{"text that is not empty"}; },
      [&](std::vector<std::int64_t>*) {
        return "a list of whole numbers" + range;
      },
      [](std::vector<std::string>*) {
        return std::string{"a text, or a list of texts"};
      },
    },
    row.member(job));
}

std::string value_text(const key_row& row, const job_config& job) {
  // Members are reached through pointers to non-const; nothing is written.
  auto copy = job;
  return std::visit(
    overloaded{
      [](std::monostate) { return std::string{}; },
      [](const bool* v) { return std::string{*v ? "true" : "false"}; },
      [](const std::string* v) { return v->empty() ? "" : quoted(*v); },
      [](const std::vector<std::int64_t>* v) {
        return list_text(*v, number_text<std::int64_t>);
      },
      [](const std::vector<std::string>* v) { return list_text(*v, quoted); },
      [](const auto* v) { return number_text(*v); },
    },
    row.member(copy));
}

const key_effect* missing_effect(const key_row& row, const job_config& job) {
  for (const auto& effect : row.effects)
    if (!effect.holds(job))
      return &effect;
  return nullptr;
}

} // namespace troupe::runtime::config
