// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/decoder_files.hpp"

#include "protocols/failure.hpp"
#include "runtime/checkpoint/safetensors.hpp"

#include <set>

namespace troupe::runtime::model {

namespace {

using checkpoint::safetensors_reader;
using protocols::errc;
using protocols::failure;
namespace fs = std::filesystem;

std::string text_of(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (const auto size : shape)
    text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

/// Takes parameters out of the safetensors of a folder.
class file_source : public shard::parameter_source {
public:
  explicit file_source(const fs::path& folder)
    : folder_(folder), reader_(std::make_shared<safetensors_reader>(
                         safetensors_reader::open(folder))) {}

  torch::Tensor make(const shard::parameter_spec& spec) override {
    const auto* found = reader_->find(spec.name);
    if (!found)
      throw failure{errc::model_mismatch,
                    folder_.string() + ": no tensor '" + spec.name
                      + "' in its safetensors, the config wants it with shape "
                      + text_of(spec.shape)};
    if (found->shape != spec.shape)
      throw failure{errc::model_mismatch,
                    folder_.string() + ": tensor '" + spec.name + "' has shape "
                      + text_of(found->shape)
                      + " in its safetensors, the config wants "
                      + text_of(spec.shape)};
    taken_.insert(spec.name);
    const auto address = reinterpret_cast<std::uintptr_t>(found->data);
    if (found->dtype == checkpoint::tensor_dtype::f32
        && address % alignof(float) == 0) {
      // The mapping is private and writable: see safetensors_reader::open.
      auto* data = const_cast<std::byte*>(found->data);
      return torch::from_blob(
        data, spec.shape, [keep = reader_](void*) {}, torch::kFloat32);
    }
    auto tensor = torch::empty(spec.shape, torch::kFloat32);
    checkpoint::to_f32(*found, {tensor.mutable_data_ptr<float>(),
                                static_cast<std::size_t>(tensor.numel())});
    return tensor;
  }

  /// Errors: model_mismatch for a tensor that nobody asked for.
  void require_all_taken(const decoder_config& config) const {
    for (const auto& tensor : reader_->tensors()) {
      const bool is_derived =
        tensor.name.ends_with("rotary_emb.inv_freq")
        || (config.tie_embeddings && tensor.name == "lm_head.weight");
      if (!is_derived && !taken_.contains(tensor.name))
        throw failure{errc::model_mismatch,
                      folder_.string() + ": tensor '" + tensor.name
                        + "' of shape " + text_of(tensor.shape)
                        + " has no place in the model that config.json "
                          "describes"};
    }
  }

private:
  fs::path folder_;
  std::shared_ptr<safetensors_reader> reader_;
  std::set<std::string, std::less<>> taken_;
};

} // namespace

std::shared_ptr<decoder> load_decoder(const fs::path& folder,
                                      const module_registry& registry,
                                      shard::rank_group group) {
  const auto config = read_decoder_config(folder);
  file_source source{folder};
  shard::sharding_context context{group, source};
  auto model = std::make_shared<decoder>(config, context.factory(), registry);
  source.require_all_taken(config);
  return model;
}

void save_decoder(const decoder& model, const fs::path& folder,
                  const fs::path& tokenizer_folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw failure{errc::io_failed, "can't make the folder " + folder.string()
                                     + ": " + error.message()};
  auto config = model.config();
  config.dtype = "float32";
  write_decoder_config(config, folder);
  std::vector<checkpoint::tensor_view> tensors;
  for (const auto& [name, held] : model.named_parameters())
    tensors.push_back(
      {.name = name,
       .dtype = checkpoint::tensor_dtype::f32,
       .shape = held->shape(),
       .data = static_cast<const std::byte*>(held->tensor().const_data_ptr()),
       .bytes = held->tensor().nbytes()});
  checkpoint::write_safetensors(folder / "model.safetensors", tensors);
  for (const char* name : {"tokenizer.json", "tokenizer_config.json",
                           "special_tokens_map.json", "added_tokens.json",
                           "vocab.json", "merges.txt", "chat_template.jinja"}) {
    const auto from = tokenizer_folder / name;
    if (!fs::exists(from) || fs::equivalent(tokenizer_folder, folder, error))
      continue;
    fs::copy_file(from, folder / name, fs::copy_options::overwrite_existing,
                  error);
    if (error)
      throw failure{errc::io_failed, "can't copy " + from.string() + " to "
                                       + folder.string() + ": "
                                       + error.message()};
  }
}

} // namespace troupe::runtime::model
