// SPDX-License-Identifier: Apache-2.0
#include "protocols/failure.hpp"
#include "runtime/tokenizer/tokenizer.hpp"
#include "runtime/tokenizer/tokenizer_spec.hpp"

namespace troupe::runtime::tokenizer {

namespace fs = std::filesystem;

void copy_tokenizer_files(const fs::path& from, const fs::path& to_folder) {
  const auto folder = fs::is_directory(from) ? from : from.parent_path();
  const auto main_file =
    fs::is_directory(from) ? from / "tokenizer.json" : from;
  if (!fs::exists(main_file))
    refuse_file(main_file, "no such file");
  const auto copy = [&](const fs::path& file, const std::string& name) {
    const auto target = to_folder / name;
    std::error_code error;
    if (!fs::exists(file) || fs::equivalent(file, target, error))
      return;
    fs::copy_file(file, target, fs::copy_options::overwrite_existing, error);
    if (error)
      throw protocols::failure{protocols::errc::io_failed,
                               "cannot copy " + file.string() + " to "
                                 + target.string() + ": " + error.message()};
  };
  copy(main_file, "tokenizer.json");
  for (const auto* name : {"tokenizer_config.json", "special_tokens_map.json",
                           "chat_template.jinja"})
    copy(folder / name, name);
}

} // namespace troupe::runtime::tokenizer
