// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/manifest_json.hpp"

#include "protocols/failure.hpp"
#include "runtime/json_reason.hpp"

#include <nlohmann/json.hpp>

#include <charconv>
#include <set>

namespace troupe::runtime::checkpoint {

using json = nlohmann::ordered_json;

namespace {

[[noreturn]] void corrupt(const std::filesystem::path& file,
                          const std::string& reason) {
  throw protocols::failure{protocols::errc::checkpoint_corrupt,
                           file.string() + ": " + reason};
}

std::uint64_t from_hex(const std::string& text,
                       const std::filesystem::path& file) {
  std::uint64_t out = 0;
  const auto* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, out, 16);
  if (text.size() != 16 || error != std::errc{} || at != end)
    corrupt(file, "xxh3_64 is \"" + text + "\", not 16 hexadecimal digits");
  return out;
}

} // namespace

bool is_file_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name != manifest_name
         && name.find('/') == name.npos;
}

std::string to_hex(std::uint64_t value) {
  constexpr const char* digits = "0123456789abcdef";
  std::string out(16, '0');
  for (std::size_t i = 16; value != 0; value >>= 4)
    out[--i] = digits[value & 0xf];
  return out;
}

std::string manifest_to_json(const manifest& what) {
  auto files = json::array();
  for (const auto& file : what.files)
    files.push_back({{"name", file.name},
                     {"bytes", file.bytes},
                     {"xxh3_64", to_hex(file.xxh3_64)}});
  return json{{"format_version", manifest_format_version},
              {"job_identity", what.job_identity},
              {"model_identity", what.model_identity},
              {"step", what.step},
              {"policy_version", what.policy_version},
              {"files", std::move(files)}}
           .dump(1)
         + "\n";
}

manifest manifest_from_json(std::string_view text,
                            const std::filesystem::path& file) {
  try {
    const auto content = json::parse(text);
    const auto version = content.at("format_version").get<std::int64_t>();
    if (version != manifest_format_version)
      corrupt(file, "format_version is " + std::to_string(version)
                      + "; this program reads "
                      + std::to_string(manifest_format_version));
    manifest out;
    content.at("job_identity").get_to(out.job_identity);
    content.at("model_identity").get_to(out.model_identity);
    content.at("step").get_to(out.step);
    content.at("policy_version").get_to(out.policy_version);
    std::set<std::string> names;
    for (const auto& entry : content.at("files")) {
      manifest_file one;
      entry.at("name").get_to(one.name);
      entry.at("bytes").get_to(one.bytes);
      one.xxh3_64 = from_hex(entry.at("xxh3_64").get<std::string>(), file);
      if (!is_file_name(one.name))
        corrupt(file, "\"" + one.name + "\" is no name of a file");
      if (!names.insert(one.name).second)
        corrupt(file, one.name + " is listed twice");
      out.files.push_back(std::move(one));
    }
    return out;
  } catch (const json::exception& error) {
    corrupt(file, "no manifest: " + json_reason(error));
  }
}

} // namespace troupe::runtime::checkpoint
