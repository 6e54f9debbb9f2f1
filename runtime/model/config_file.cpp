// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/config_file.hpp"

#include "runtime/checkpoint/file_io.hpp"
#include "runtime/json_reason.hpp"

#include <cmath>
#include <limits>

namespace troupe::runtime::model {

using protocols::errc;
using protocols::failure;

config_file::config_file(std::filesystem::path file) : file_(std::move(file)) {
  try {
    const checkpoint::mapped_file mapped{file_};
    content_ = json::parse(mapped.text());
  } catch (const failure& error) {
    throw failure{errc::model_unreadable, error.what()};
  } catch (const json::exception& error) {
    throw failure{errc::model_unreadable,
                  file_.string() + " is no JSON: " + json_reason(error)};
  }
  if (!content_.is_object())
    throw failure{errc::model_unreadable,
                  file_.string() + " holds no JSON object"};
}

const config_file::json&
config_file::operator[](const std::string& path) const {
  static const json null;
  const auto pointer = json::json_pointer{"/" + path};
  return content_.contains(pointer) ? content_.at(pointer) : null;
}

bool config_file::has(const std::string& path) const {
  return content_.contains(json::json_pointer{"/" + path});
}

void config_file::refuse(errc code, const std::string& key,
                         const std::string& allowed) const {
  const auto& value = (*this)[key];
  throw failure{code, file_.string() + ": " + key + " is "
                        + (value.is_null() ? "missing" : value.dump()) + "; "
                        + allowed};
}

void config_file::require(const std::string& key, const json& value) const {
  if (!(*this)[key].is_null() && (*this)[key] != value)
    refuse(errc::model_unsupported, key, "supported is " + value.dump());
}

std::int64_t config_file::count(const std::string& key,
                                std::optional<std::int64_t> absent) const {
  const auto& value = (*this)[key];
  if (value.is_null() && absent)
    return *absent;
  if (!value.is_number_integer() || value.get<std::int64_t>() < 1
      || value.get<std::int64_t>() > std::numeric_limits<std::int32_t>::max())
    refuse(errc::model_unreadable, key, "an integer from 1 is needed");
  return value.get<std::int64_t>();
}

double config_file::positive(const std::string& key,
                             std::optional<double> absent) const {
  const auto& value = (*this)[key];
  if (value.is_null() && absent)
    return *absent;
  if (!value.is_number() || !(value.get<double>() > 0)
      || !(static_cast<float>(value.get<double>()) > 0)
      || !std::isfinite(static_cast<float>(value.get<double>())))
    refuse(errc::model_unreadable, key,
           "a number above 0 that 32 bits hold is needed");
  return value.get<double>();
}

bool config_file::flag(const std::string& key, bool absent) const {
  const auto& value = (*this)[key];
  if (!value.is_null() && !value.is_boolean())
    refuse(errc::model_unreadable, key, "true or false is needed");
  return value.is_null() ? absent : value.get<bool>();
}

std::vector<std::int32_t>
config_file::token_ids(const std::string& key, std::int64_t vocab_size) const {
  const auto& value = (*this)[key];
  std::vector<std::int32_t> out;
  const auto add = [&](const json& id) {
    if (!id.is_number_integer() || id.get<std::int64_t>() < 0
        || id.get<std::int64_t>() >= vocab_size)
      refuse(errc::model_unreadable, key,
             "ids from 0 to " + std::to_string(vocab_size - 1)
               + " are allowed");
    out.push_back(id.get<std::int32_t>());
  };
  if (value.is_array())
    for (const auto& id : value)
      add(id);
  else if (!value.is_null())
    add(value);
  return out;
}

std::int32_t config_file::token_id(const std::string& key,
                                   std::int64_t vocab_size,
                                   std::int32_t absent) const {
  if (!has(key))
    return absent;
  const auto ids = token_ids(key, vocab_size);
  return ids.empty() ? -1 : ids.front();
}

} // namespace troupe::runtime::model
