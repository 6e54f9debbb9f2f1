// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/rank_model.hpp"

#include "protocols/failure.hpp"
#include "runtime/checkpoint/file_io.hpp"
#include "runtime/checkpoint/safetensors.hpp"
#include "runtime/model/decoder_files.hpp"
#include "runtime/model/load_plugin.hpp"
#include "runtime/tokenizer/tokenizer.hpp"
#include "runtime/train/parameter_patterns.hpp"

#include <c10/util/StringUtil.h>
#include <nlohmann/json.hpp>

#include <cstring>
#include <fstream>

namespace troupe::runtime::train {

namespace {

using protocols::errc;
using protocols::failure;

model::decoder_config shape_of(const config::fresh_model_block& fresh,
                               const std::string& tokenizer_path) {
  const auto words = tokenizer::tokenizer::load(tokenizer_path);
  const auto& special = words.specials();
  model::decoder_config shape;
  shape.vocab_size = words.vocab_size();
  if (special.eos)
    shape.eos_token_ids = {*special.eos};
  shape.bos_token_id = special.bos.value_or(-1);
  shape.pad_token_id = special.pad.value_or(-1);
  shape.hidden_size = fresh.hidden_size;
  shape.intermediate_size = fresh.intermediate_size;
  shape.num_layers = fresh.num_layers;
  shape.num_heads = fresh.num_heads;
  shape.num_kv_heads = fresh.num_kv_heads;
  shape.head_width = fresh.hidden_size / fresh.num_heads;
  shape.max_positions = fresh.max_positions;
  shape.rope.theta = fresh.rope_theta;
  shape.norm_eps = fresh.rms_norm_eps;
  shape.initializer_range = fresh.initializer_range;
  shape.tie_embeddings = fresh.tie_embeddings;
  shape.mlp = fresh.mlp;
  return shape;
}

std::shared_ptr<model::decoder>
make_policy(const config::job_config& job,
            const model::module_registry& types) {
  if (!job.model.fresh)
    return model::load_decoder(job.model.path, types);
  return model::make_decoder(shape_of(*job.model.fresh, job.model.tokenizer),
                             job.run.seed, types);
}

/// A reference of its own memory: the policy's may be written.
std::shared_ptr<model::decoder>
make_reference(const config::job_config& job,
               const model::module_registry& types) {
  auto made = job.model.reference_path.empty()
                ? make_policy(job, types)
                : model::load_decoder(job.model.reference_path, types);
  for (const auto& [name, p] : made->named_parameters())
    torch::Tensor{p->tensor()}.requires_grad_(false);
  return made;
}

/// All of the model's but those that the job freezes, which take no gradient.
std::vector<std::shared_ptr<shard::parameter>>
trained_parameters(const model::module& m,
                   const std::vector<std::string>& frozen) {
  std::vector<std::string> names;
  std::vector<std::shared_ptr<shard::parameter>> out;
  for (const auto& [name, p] : m.named_parameters()) {
    if (p->kind() != shard::parameter_kind::trained)
      continue;
    names.push_back(name);
    if (fits_any(frozen, name))
      torch::Tensor{p->tensor()}.requires_grad_(false);
    else
      out.push_back(p);
  }
  require_fits(frozen, names, "train.frozen");
  if (out.empty())
    throw failure(errc::model_mismatch,
                  "train.frozen fits all " + std::to_string(names.size())
                    + " parameters of the model; allowed: patterns that leave "
                      "some to be trained");
  return out;
}

} // namespace

rank_model::rank_model(const config::job_config& job, model_use use,
                       const std::filesystem::path& resume_from,
                       kernels::thread_pool& pool)
  : tokenizer_folder_(job.model.tokenizer.empty() ? job.model.path
                                                  : job.model.tokenizer) {
  for (const auto& plugin : job.model.plugins)
    model::load_plugin(plugin, registry_);
  policy_ = make_policy(job, registry_);
  if (use == model_use::train) {
    if (job.train.algorithm == "grpo" && job.train.kl_coefficient > 0)
      reference_ = make_reference(job, registry_);
    optimizer_ = std::make_shared<adamw_optimizer>(
      trained_parameters(*policy_, job.train.frozen), pool);
    trainer_ = std::make_unique<trainer>(
      *policy_, reference_.get(), *optimizer_,
      trainer_settings{job.train,
                       static_cast<float>(job.rollout.sampling.temperature)},
      pool);
  }
  engine_ =
    model::engine::initialize({.model = policy_, .optimizer = optimizer_});
  if (!resume_from.empty())
    restore(resume_from);
}

std::uint64_t rank_model::num_parameters() const {
  std::uint64_t count = 0;
  for (const auto& [name, p] : policy_->named_parameters())
    count += static_cast<std::uint64_t>(p->tensor().numel());
  return count;
}

std::uint64_t rank_model::num_trained_parameters() const {
  std::uint64_t count = 0;
  for (const auto& p : optimizer_->parameters())
    count += static_cast<std::uint64_t>(p->tensor().numel());
  return count;
}

void rank_model::enter_stage(std::uint8_t next) {
  if (next == stage)
    return;
  optimizer_->reset();
  stage = next;
}

std::vector<std::string>
rank_model::write(const std::filesystem::path& folder) const {
  std::vector<checkpoint::tensor_view> weights;
  for (const auto& [name, p] : policy_->named_parameters())
    weights.push_back(
      {name, checkpoint::tensor_dtype::f32, p->tensor().sizes().vec(),
       static_cast<const std::byte*>(p->tensor().const_data_ptr()),
       static_cast<std::size_t>(p->tensor().nbytes())});
  checkpoint::write_safetensors(folder / checkpoint_files::weights, weights);
  std::vector<std::string> files{checkpoint_files::weights};
  if (optimizer_) {
    checkpoint::write_safetensors(folder / checkpoint_files::moments,
                                  optimizer_->state());
    files.emplace_back(checkpoint_files::moments);
  }
  checkpoint::replace_file(
    folder / checkpoint_files::state,
    nlohmann::json{{"policy_version", version},
                   {"stage", stage},
                   {"num_updates", optimizer_ ? optimizer_->num_updates() : 0}}
      .dump());
  files.emplace_back(checkpoint_files::state);
  return files;
}

void rank_model::export_to(const std::filesystem::path& folder) const {
  model::save_decoder(*policy_, folder, tokenizer_folder_);
}

void rank_model::restore(const std::filesystem::path& folder) {
  std::ifstream in{folder / checkpoint_files::state};
  const auto state = nlohmann::json::parse(in, nullptr, false);
  for (const auto* key : {"policy_version", "stage", "num_updates"})
    if (!state.is_object() || !state.contains(key)
        || !state.at(key).is_number_unsigned())
      throw failure(errc::checkpoint_corrupt,
                    (folder / checkpoint_files::state).string()
                      + " is no JSON object with a whole number '" + key + "'");
  const auto weights =
    checkpoint::safetensors_reader::open(folder / checkpoint_files::weights);
  for (const auto& [name, p] : policy_->named_parameters()) {
    const auto& found = weights.at(name);
    if (found.shape != p->tensor().sizes().vec())
      throw failure(errc::checkpoint_mismatch,
                    c10::str(folder.string(), ": tensor '", name,
                             "' has the shape ", at::IntArrayRef{found.shape},
                             ", the job's model ", p->tensor().sizes()));
    checkpoint::to_f32(found, {p->tensor().mutable_data_ptr<float>(),
                               static_cast<std::size_t>(p->tensor().numel())});
  }
  version = state.at("policy_version");
  stage = state.at("stage");
  if (optimizer_)
    optimizer_->restore(
      checkpoint::safetensors_reader::open(folder / checkpoint_files::moments),
      state.at("num_updates"));
}

} // namespace troupe::runtime::train
