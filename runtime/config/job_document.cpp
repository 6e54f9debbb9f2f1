// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/job_document.hpp"

#include "protocols/failure.hpp"
#include "runtime/config/key_table.hpp"
#include "runtime/config/nearest_key.hpp"

#include <algorithm>

namespace troupe::runtime::config {

using protocols::errc;
using protocols::failure;

namespace {

std::string line_of(const std::string& file, const YAML::Mark& mark) {
  return mark.is_null() ? file : file + ':' + std::to_string(mark.line + 1);
}

std::string join(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words)
    out += (out.empty() ? "" : ", ") + word;
  return out;
}

/// The nearest key of the block, unless it is far off and another block has
/// a key of exactly this name.
std::string suggestion(const std::string& block, const std::string& name) {
  const auto here = nearest(name, keys_of(block));
  if (edit_distance(name, here) > std::max<std::size_t>(2, name.size() / 3))
    for (const auto& row : key_table())
      if (row.path.ends_with('.' + name))
        return row.path;
  return here;
}

[[noreturn]] void throw_unknown(const std::string& place,
                                const std::string& block,
                                const std::string& name) {
  throw failure{errc::config_unknown_key,
                place + ": unknown key \"" + name + "\" in "
                  + (block.empty() ? "the job" : block) + "; did you mean \""
                  + suggestion(block, name)
                  + "\"? Known here: " + join(keys_of(block))};
}

YAML::Node parse(std::string_view text, const std::string& file) {
  try {
    const auto documents = YAML::LoadAll(std::string{text});
    if (documents.size() > 1)
      throw failure{errc::config_unreadable,
                    line_of(file, documents[1].Mark())
                      + ": a second YAML document; a job is one document, "
                        "without \"---\" inside"};
    return documents.empty() ? YAML::Node{} : documents.front();
  } catch (const YAML::Exception& error) {
    throw failure{errc::config_unreadable,
                  line_of(file, error.mark) + ": no YAML: " + error.msg};
  }
}

} // namespace

job_document::job_document(std::string_view text,
                           const std::filesystem::path& file,
                           std::span<const std::string> overrides)
  : file_(file.string()) {
  walk(parse(text, file_), "");
  for (const auto& text_of_one : overrides)
    override_with(text_of_one);
}

void job_document::walk(const YAML::Node& block, const std::string& path) {
  if (!block.IsMap())
    throw failure{
      errc::config_wrong_type,
      line_of(file_, block.Mark()) + ": " + (path.empty() ? "the job" : path)
        + " is no block of keys; allowed below it: " + join(keys_of(path))};
  for (const auto& item : block) {
    const auto place = line_of(file_, item.first.Mark());
    if (!item.first.IsScalar())
      throw failure{
        errc::config_wrong_type,
        place + ": a key must be a word; allowed: " + join(keys_of(path))};
    const auto& name = item.first.Scalar();
    if (name.find('.') != std::string::npos)
      throw failure{errc::config_unknown_key,
                    place + ": the key \"" + name
                      + "\" has a dot, as on the command line; write "
                      + name.substr(0, name.find('.'))
                      + ": and the rest as a key of that block"};
    const auto key = path.empty() ? name : path + '.' + name;
    const bool block_follows = is_block(key);
    if (!block_follows && find_key(key) == nullptr)
      throw_unknown(place, path, name);
    const auto first = place_of(key);
    if (values_.contains(key) || blocks_.contains(key))
      throw failure{errc::config_conflict, place + ": " + key
                                             + " was given before, at " + first
                                             + "; keep one of the two"};
    if (block_follows) {
      blocks_[key] = place;
      walk(item.second, key);
    } else {
      check_tags(item.second, key);
      values_[key] = {item.second, place, value_source::file};
    }
  }
}

void job_document::check_tags(const YAML::Node& value,
                              const std::string& key) const {
  // "?" and "!" are what plain and quoted values have; others would be lost.
  if (const auto& tag = value.Tag(); tag.size() > 1)
    throw failure{errc::config_wrong_type,
                  line_of(file_, value.Mark()) + ": " + key
                    + " has the YAML tag \"" + tag
                    + "\"; tags are not allowed, write the value alone"};
  if (value.IsSequence())
    for (const auto& entry : value)
      check_tags(entry, key);
}

void job_document::override_with(const std::string& text) {
  const auto place = "command line: " + text;
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw failure{errc::config_wrong_type,
                  place
                    + ": no override; write key=value, as in "
                      "train.steps=100"};
  const auto key = text.substr(0, equals);
  const auto value = text.substr(equals + 1);
  if (const auto* old = find(key);
      old != nullptr && old->source == value_source::command_line)
    throw failure{errc::config_conflict,
                  place + ": " + key + " was given before, at " + old->place
                    + "; keep one of the two"};
  const auto* row = find_key(key);
  if (row == nullptr && !is_block(key)) {
    std::size_t begin = 0; // of the first word that is not known
    for (auto dot = key.find('.');
         dot != std::string::npos && is_block(key.substr(0, dot));
         dot = key.find('.', begin))
      begin = dot + 1;
    if (const auto end = key.find('.', begin);
        end != std::string::npos && find_key(key.substr(0, end)))
      throw failure{errc::config_unknown_key,
                    place + ": " + key.substr(0, end)
                      + " has no keys below it; write " + key.substr(0, end)
                      + "=value"};
    throw_unknown(place, begin == 0 ? "" : key.substr(0, begin - 1),
                  key.substr(begin, key.find('.', begin) - begin));
  }
  if (value == "null") {
    std::erase_if(values_, [&key](const auto& entry) {
      return entry.first == key || entry.first.starts_with(key + '.');
    });
    std::erase_if(blocks_, [&key](const auto& entry) {
      return entry.first == key || entry.first.starts_with(key + '.');
    });
    return;
  }
  if (row == nullptr)
    throw failure{errc::config_wrong_type,
                  place + ": " + key + " is a block; set one of its keys ("
                    + join(keys_of(key)) + "), or take it out with " + key
                    + "=null"};
  auto defaults = job_of_defaults();
  const auto member = row->member(defaults);
  const bool is_text =
    std::holds_alternative<std::string*>(member)
    || (std::holds_alternative<std::vector<std::string>*>(member)
        && !value.starts_with('['));
  values_[key] = {is_text ? YAML::Node{value} : parse(value, place), place,
                  value_source::command_line};
}

const key_value* job_document::find(const std::string& path) const {
  const auto found = values_.find(path);
  return found == values_.end() ? nullptr : &found->second;
}

bool job_document::has_block(const std::string& path) const {
  const auto below = values_.lower_bound(path + '.');
  return blocks_.contains(path)
         || (below != values_.end() && below->first.starts_with(path + '.'));
}

std::string job_document::place_of(const std::string& path) const {
  if (const auto* value = find(path))
    return value->place;
  for (auto block = path;;) {
    if (const auto found = blocks_.find(block); found != blocks_.end())
      return found->second;
    const auto dot = block.rfind('.');
    if (dot == std::string::npos)
      return file_;
    block.resize(dot);
  }
}

} // namespace troupe::runtime::config
