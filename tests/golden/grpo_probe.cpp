// SPDX-License-Identifier: Apache-2.0
//
// One policy step of runtime/train for each case of a JSON file:
//   grpo_probe CASES.json OUT_FOLDER
// Prints a JSON object of metrics a case and writes its gradients to
// OUT_FOLDER/<index>.safetensors. With beta1 = 0 and no clipping the first
// moment of the first update is the gradient.
#include "runtime/checkpoint/safetensors.hpp"
#include "runtime/model/decoder_files.hpp"
#include "runtime/train/trainer.hpp"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <fstream>
#include <iostream>

using namespace troupe::runtime;
using nlohmann::json;

namespace {

using group_list =
  std::vector<std::shared_ptr<const experience::rollout_group>>;

group_list read_groups(const json& from) {
  group_list out;
  for (const auto& g : from) {
    auto group = std::make_shared<experience::rollout_group>();
    group->id.position = static_cast<std::uint32_t>(out.size());
    group->prompt_ids = g.at("prompt_ids").get<std::vector<std::int32_t>>();
    for (const auto& s : g.at("samples")) {
      experience::sample sample;
      sample.completion_ids =
        s.at("completion_ids").get<std::vector<std::int32_t>>();
      for (const auto& logprob : s.at("rollout_logprobs"))
        sample.rollout_logprobs.push_back(
          logprob.is_string() ? std::stof(logprob.get<std::string>())
                              : logprob.get<float>());
      group->samples.push_back(std::move(sample));
    }
    out.push_back(std::move(group));
  }
  return out;
}

std::map<std::string, torch::Tensor> tensors_of(const model::decoder& d) {
  std::map<std::string, torch::Tensor> out;
  for (const auto& [name, p] : d.named_parameters())
    out[name] = p->tensor().detach().clone();
  return out;
}

void set_tensors(const model::decoder& d,
                 const std::map<std::string, torch::Tensor>& from) {
  for (const auto& [name, p] : d.named_parameters())
    p->tensor().detach().copy_(from.at(name));
}

json run(const json& input, const json& settings, const std::string& to) {
  troupe::kernels::thread_pool pool{2};
  const model::module_registry types;
  const auto policy = model::load_decoder(input.at("model"), types);
  const auto old = model::load_decoder(input.at("old"), types);
  const auto reference = model::load_decoder(input.at("reference"), types);
  std::vector<std::shared_ptr<shard::parameter>> parameters;
  for (const auto& [name, p] : policy->named_parameters())
    parameters.push_back(p);
  train::adamw_optimizer optimizer(parameters, pool);

  train::trainer_settings made;
  made.temperature = settings.at("temperature");
  made.train.policy_loss = settings.at("policy_loss");
  made.train.ratio_level = settings.at("ratio_level");
  made.train.dual_clip = settings.at("dual_clip");
  made.train.importance_correction = settings.at("importance_correction");
  made.train.importance_min = settings.at("importance_min");
  made.train.importance_max = settings.at("importance_max");
  made.train.kl_estimator = settings.at("kl_estimator");
  made.train.entropy_coefficient = settings.at("entropy_coefficient");
  made.train.loss_length_tokens = settings.at("loss_length_tokens");
  made.train.clip_low = settings.at("clip_low");
  made.train.clip_high = settings.at("clip_high");
  made.train.kl_coefficient = settings.at("kl_coefficient");
  made.train.loss_aggregation = settings.at("loss_aggregation");
  made.train.microbatch_tokens = settings.at("microbatch_tokens");
  made.train.logit_chunk_tokens = settings.at("logit_chunk_tokens");
  made.train.optimizer.beta1 = 0;
  made.train.optimizer.max_grad_norm = 0;
  train::trainer trainer(
    *policy, made.train.kl_coefficient > 0 ? reference.get() : nullptr,
    optimizer, made, pool);

  const auto groups = read_groups(input.at("groups"));
  if (settings.at("is_scored").get<bool>()) {
    // As if an update had come between: scored with the old weights.
    const auto now = tensors_of(*policy);
    set_tensors(*policy, tensors_of(*old));
    trainer.score_groups(groups);
    set_tensors(*policy, now);
  }
  const auto result = trainer.policy_step(
    groups, input.at("advantages").get<std::vector<float>>(), false, 0);

  checkpoint::write_safetensors(to, optimizer.state());
  return result.metrics;
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: grpo_probe CASES.json OUT_FOLDER\n", stderr);
    return 2;
  }
  try {
    std::ifstream in{argv[1]};
    const auto input = json::parse(in);
    int index = 0;
    for (const auto& settings : input.at("cases"))
      std::cout << run(input, settings,
                       std::string{argv[2]} + "/" + std::to_string(index++)
                         + ".safetensors")
                << "\n";
  } catch (const std::exception& e) {
    std::cerr << "grpo_probe: " << e.what() << "\n";
    return 1;
  }
}
