// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/decoder_files.hpp"

#include "protocols/failure.hpp"
#include "runtime/checkpoint/safetensors.hpp"
#include "runtime/model/families.hpp"

#include <algorithm>
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

const file_layout* layout_of(const decoder_config& config) {
  const auto* found = find_family(config.family);
  return found == nullptr ? nullptr : found->layout;
}

/// The tensor that a parameter of this shape stands in.
std::vector<std::int64_t> file_shape(const file_place& place,
                                     std::vector<std::int64_t> shape) {
  shape[0] *= place.num_parts;
  if (place.is_turned)
    std::swap(shape[0], shape[1]);
  return shape;
}

bool is_plain(const file_place& place) {
  return !place.is_turned && place.num_parts == 1;
}

enum class transfer { from_file, to_file };

/// Copies a parameter out of a tensor of a file, or into one: its rows in
/// blocks between those of the other parts, the matrix turned if need be.
void transfer_part(const file_place& place,
                   const std::vector<std::int64_t>& shape, float* parameter,
                   float* file, transfer way) {
  const auto rows = shape[0];
  const auto cols = shape.size() > 1 ? shape[1] : 1;
  const auto block = place.block_rows == 0 ? rows : place.block_rows;
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto row =
      (r / block * place.num_parts + place.part) * block + r % block;
    for (std::int64_t c = 0; c < cols; ++c) {
      auto& ours = parameter[r * cols + c];
      auto& theirs = file[place.is_turned ? c * rows * place.num_parts + row
                                          : row * cols + c];
      if (way == transfer::from_file)
        ours = theirs;
      else
        theirs = ours;
    }
  }
}

/// Takes parameters out of the safetensors of a folder.
class file_source : public shard::parameter_source {
public:
  file_source(const fs::path& folder, const decoder_config& config)
    : folder_(folder), config_(config), layout_(layout_of(config)),
      reader_(std::make_shared<safetensors_reader>(
        safetensors_reader::open(folder))) {}

  torch::Tensor make(const shard::parameter_spec& spec) override {
    const auto place = place_of(layout_, spec.name, config_.head_width);
    const auto wanted = file_shape(place, spec.shape);
    const auto& found = find(place.name, wanted);
    taken_.insert(found.name);
    const auto address = reinterpret_cast<std::uintptr_t>(found.data);
    if (found.dtype == checkpoint::tensor_dtype::f32
        && address % alignof(float) == 0 && is_plain(place)) {
      // The mapping is private and writable: see safetensors_reader::open.
      auto* data = const_cast<std::byte*>(found.data);
      return torch::from_blob(
        data, spec.shape, [keep = reader_](void*) {}, torch::kFloat32);
    }
    auto whole = torch::empty(wanted, torch::kFloat32);
    checkpoint::to_f32(found, {whole.mutable_data_ptr<float>(),
                               static_cast<std::size_t>(whole.numel())});
    if (is_plain(place))
      return whole;
    auto tensor = torch::empty(spec.shape, torch::kFloat32);
    transfer_part(place, spec.shape, tensor.mutable_data_ptr<float>(),
                  whole.mutable_data_ptr<float>(), transfer::from_file);
    return tensor;
  }

  /// Errors: model_mismatch for a tensor that nobody asked for.
  void require_all_taken() const {
    const auto head = place_of(layout_, "lm_head.weight", 0).name;
    for (const auto& tensor : reader_->tensors()) {
      const bool is_derived =
        is_derived_tensor(tensor.name)
        || (config_.tie_embeddings && tensor.name == head);
      if (!is_derived && !taken_.contains(tensor.name))
        throw failure{errc::model_mismatch,
                      folder_.string() + ": tensor '" + tensor.name
                        + "' of shape " + text_of(tensor.shape)
                        + " has no place in the model that config.json "
                          "describes"};
    }
  }

private:
  /// Files of a body without a head lack the body's name in front.
  const checkpoint::tensor_view&
  find(const std::string& name, const std::vector<std::int64_t>& wanted) const {
    const auto* found = reader_->find(name);
    if (found == nullptr)
      found = reader_->find(name.substr(name.find('.') + 1));
    if (found == nullptr)
      throw failure{errc::model_mismatch,
                    folder_.string() + ": no tensor '" + name
                      + "' in its safetensors, the config wants it with shape "
                      + text_of(wanted)};
    if (found->shape != wanted)
      throw failure{errc::model_mismatch,
                    folder_.string() + ": tensor '" + name + "' has shape "
                      + text_of(found->shape)
                      + " in its safetensors, the config wants "
                      + text_of(wanted)};
    return *found;
  }

  fs::path folder_;
  const decoder_config& config_;
  const file_layout* layout_;
  std::shared_ptr<safetensors_reader> reader_;
  std::set<std::string, std::less<>> taken_;
};

} // namespace

std::vector<file_tensor>
to_file_tensors(const decoder_config& config,
                const std::vector<file_tensor>& parameters) {
  std::vector<file_tensor> out;
  const auto* layout = layout_of(config);
  for (const auto& [name, value] : parameters) {
    const auto place = place_of(layout, name, config.head_width);
    if (is_plain(place)) {
      out.push_back({place.name, value});
      continue;
    }
    const auto shape = value.sizes().vec();
    auto held = std::find_if(out.begin(), out.end(), [&](const auto& tensor) {
      return tensor.name == place.name;
    });
    if (held == out.end())
      held = out.insert(
        out.end(),
        {place.name, torch::empty(file_shape(place, shape), torch::kFloat32)});
    transfer_part(place, shape, value.mutable_data_ptr<float>(),
                  held->value.mutable_data_ptr<float>(), transfer::to_file);
  }
  return out;
}

std::shared_ptr<decoder> load_decoder(const fs::path& folder,
                                      const module_registry& registry,
                                      shard::rank_group group) {
  return load_weights(read_decoder_config(folder), folder, registry, group);
}

std::shared_ptr<decoder> load_weights(const decoder_config& config,
                                      const fs::path& folder,
                                      const module_registry& registry,
                                      shard::rank_group group) {
  file_source source{folder, config};
  shard::sharding_context context{group, source};
  auto model = std::make_shared<decoder>(config, context.factory(), registry);
  source.require_all_taken();
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
  std::vector<file_tensor> parameters;
  for (const auto& [name, held] : model.named_parameters())
    parameters.push_back({name, held->tensor().detach()});
  const auto in_files = to_file_tensors(config, parameters);
  std::vector<checkpoint::tensor_view> tensors;
  for (const auto& [name, value] : in_files)
    tensors.push_back(
      {.name = name,
       .dtype = checkpoint::tensor_dtype::f32,
       .shape = value.sizes().vec(),
       .data = static_cast<const std::byte*>(value.const_data_ptr()),
       .bytes = value.nbytes()});
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
