// SPDX-License-Identifier: Apache-2.0
//
// Decoders from Hugging Face folders and back.
#pragma once

#include "runtime/model/decoder.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace troupe::runtime::model {

/// Loads config.json and the safetensors files of a folder. float32 tensors
/// are mapped privately: pages are read when touched and copied when written.
/// bfloat16 and float16 are widened to float32.
/// Errors: model_unreadable; model_unsupported; model_mismatch, naming tensor,
/// shape found, shape wanted and file, or a tensor that is missing or unknown.
std::shared_ptr<decoder> load_decoder(const std::filesystem::path& folder,
                                      const module_registry& registry,
                                      shard::rank_group group = {});

/// The same for a config that has been read.
std::shared_ptr<decoder> load_weights(const decoder_config& config,
                                      const std::filesystem::path& folder,
                                      const module_registry& registry,
                                      shard::rank_group group = {});

struct file_tensor {
  std::string name;
  torch::Tensor value;
};

/// Returns what files of the config's family hold in place of parameters under
/// our names, or of tensors of their shapes: renamed, turned, several in one.
std::vector<file_tensor>
to_file_tensors(const decoder_config& config,
                const std::vector<file_tensor>& parameters);

/// Writes a folder that `transformers` loads: model.safetensors (float32, tied
/// weights once), config.json, generation_config.json, and a copy of the
/// tokenizer's files of `tokenizer_folder`.
/// Errors: io_failed.
void save_decoder(const decoder& model, const std::filesystem::path& folder,
                  const std::filesystem::path& tokenizer_folder);

} // namespace troupe::runtime::model
