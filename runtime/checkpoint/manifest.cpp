// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/manifest.hpp"

#include "protocols/failure.hpp"
#include "runtime/checkpoint/checksum.hpp"
#include "runtime/checkpoint/file_io.hpp"
#include "runtime/checkpoint/manifest_json.hpp"
#include "runtime/checkpoint/step_folder.hpp"

#include <algorithm>

namespace troupe::runtime::checkpoint {

namespace fs = std::filesystem;
using protocols::errc;
using protocols::failure;

namespace {

[[noreturn]] void corrupt(const fs::path& file, const std::string& reason) {
  throw failure{errc::checkpoint_corrupt, file.string() + ": " + reason};
}

void require_sizes(const manifest& what, const fs::path& folder) {
  for (const auto& file : what.files) {
    const auto path = folder / file.name;
    std::error_code error;
    const auto bytes = fs::file_size(path, error);
    if (error)
      corrupt(path, "the manifest names it, but: " + error.message());
    if (bytes != file.bytes)
      corrupt(path, "has " + std::to_string(bytes) + " bytes; the manifest has "
                      + std::to_string(file.bytes));
  }
}

} // namespace

std::vector<sealed_checkpoint> list_sealed(const fs::path& directory) {
  std::vector<sealed_checkpoint> out;
  for (const auto& found : list_step_folders(directory))
    if (!found.is_partial)
      out.push_back({found.step, found.path});
  std::sort(out.begin(), out.end(),
            [](const auto& a, const auto& b) { return a.step > b.step; });
  return out;
}

manifest read_manifest(const fs::path& checkpoint) {
  if (!fs::is_directory(checkpoint))
    throw failure{errc::checkpoint_absent,
                  checkpoint.string() + " is no checkpoint: no such folder"};
  const auto path = checkpoint / manifest_name;
  manifest out;
  try {
    out = manifest_from_json(mapped_file{path}.text(), path);
  } catch (const failure& error) {
    if (error.code() != errc::io_failed)
      throw;
    throw failure{errc::checkpoint_corrupt, error.what()};
  }
  const auto named = parse_step_folder(checkpoint);
  if (named && !named->is_partial && named->step != out.step)
    corrupt(path, "step is " + std::to_string(out.step)
                    + ", but the folder is of step "
                    + std::to_string(named->step));
  require_sizes(out, checkpoint);
  return out;
}

manifest verify(const fs::path& checkpoint) {
  auto out = read_manifest(checkpoint);
  for (const auto& file : out.files) {
    const auto found = xxh3_64_of_file(checkpoint / file.name);
    if (found != file.xxh3_64)
      corrupt(checkpoint / file.name, "XXH3-64 is " + to_hex(found)
                                        + "; the manifest has "
                                        + to_hex(file.xxh3_64));
  }
  return out;
}

void require_identity(const manifest& found, const fs::path& checkpoint,
                      std::string_view job_identity,
                      std::string_view model_identity) {
  const auto require = [&](const char* what, std::string_view has,
                           std::string_view wanted) {
    if (has != wanted)
      throw failure{errc::checkpoint_mismatch,
                    checkpoint.string() + " is of another " + what
                      + ": it has \"" + std::string{has} + "\", this job has \""
                      + std::string{wanted} + "\""};
  };
  require("job", found.job_identity, job_identity);
  require("model", found.model_identity, model_identity);
}

std::vector<fs::path> retain_newest(const fs::path& directory,
                                    std::int64_t keep) {
  std::vector<fs::path> out;
  const auto sealed = list_sealed(directory);
  const auto first = static_cast<std::size_t>(std::max<std::int64_t>(keep, 1));
  for (auto i = first; i < sealed.size(); ++i)
    out.push_back(sealed[i].path);
  for (const auto& found : list_step_folders(directory))
    if (found.is_partial && !has_live_writer(found.path))
      out.push_back(found.path);
  for (const auto& path : out)
    remove_step_folder(path);
  return out;
}

} // namespace troupe::runtime::checkpoint
