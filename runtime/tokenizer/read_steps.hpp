// SPDX-License-Identifier: Apache-2.0
//
// Reads the parts of tokenizer.json but its model. Internal to this folder.
// Each refuses what it does not know with the path in the file.
#pragma once

#include "runtime/tokenizer/json_node.hpp"
#include "runtime/tokenizer/tokenizer_steps.hpp"

#include <vector>

namespace troupe::runtime::tokenizer {

/// Reads `{"Regex": ...}` or `{"String": ...}`.
text_pattern read_pattern(const node& from);

replace_step read_replace(const node& from);

/// Reads one character, such as what stands for a space.
std::string read_character(const node& from);

void read_normalizer(const node& from, std::vector<normalizer_step>& out);
void read_pre_tokenizer(const node& from, std::vector<pre_tokenizer_step>& out);
void read_post_processor(const node& from,
                         std::vector<post_processor_step>& out);
void read_decoder(const node& from, std::vector<decoder_step>& out);

} // namespace troupe::runtime::tokenizer
