// SPDX-License-Identifier: Apache-2.0
//
// A folder of its own for a test, removed at the end of the scope.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

namespace troupe::tests {

inline void write_file(const std::filesystem::path& file,
                       std::string_view text) {
  std::ofstream to{file, std::ios::binary};
  to.write(text.data(), static_cast<std::streamsize>(text.size()));
  if (!to.flush())
    throw std::runtime_error("cannot write " + file.string());
}

class temporary_folder {
public:
  temporary_folder() {
    auto name =
      (std::filesystem::temp_directory_path() / "troupe_test_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      throw std::runtime_error("cannot make " + name);
    path_ = name;
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  ~temporary_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  std::filesystem::path operator/(const std::string& name) const {
    return path_ / name;
  }

  /// Writes a file in it and returns the file's path, as error texts have it.
  std::string write(const std::string& name, std::string_view text) const {
    write_file(path_ / name, text);
    return (path_ / name).string();
  }

private:
  std::filesystem::path path_;
};

inline std::string read_file(const std::filesystem::path& file) {
  std::ifstream from{file, std::ios::binary};
  if (!from)
    throw std::runtime_error("cannot read " + file.string());
  return {std::istreambuf_iterator<char>{from}, {}};
}

} // namespace troupe::tests
