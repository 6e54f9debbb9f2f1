// SPDX-License-Identifier: Apache-2.0
//
// manifest.json as text; manifest.hpp says what it is for.
#pragma once

#include "runtime/checkpoint/manifest.hpp"

namespace troupe::runtime::checkpoint {

constexpr const char* manifest_name = "manifest.json";

/// True for a plain file name that a manifest may hold.
bool is_file_name(std::string_view name);

std::string manifest_to_json(const manifest& what);

/// Errors: checkpoint_corrupt, naming `file` and the reason.
manifest manifest_from_json(std::string_view text,
                            const std::filesystem::path& file);

/// Returns 16 hexadecimal digits.
std::string to_hex(std::uint64_t value);

} // namespace troupe::runtime::checkpoint
