// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/check_job.hpp"

#include "protocols/failure.hpp"
#include "runtime/config/key_table.hpp"

namespace troupe::runtime::config {

using protocols::errc;
using protocols::failure;

namespace {

class job_checks {
public:
  job_checks(const job_config& job, const job_document& document)
    : job_(job), document_(document) {}

  void check_supported() const {
    if (job_.placement.ranks > 1)
      refuse(errc::unsupported, "placement.ranks",
             "placement.ranks is " + std::to_string(job_.placement.ranks)
               + "; several ranks come with a later version; allowed: 1");
    if (job_.placement.device == "cuda")
      refuse(errc::unsupported, "placement.device",
             "placement.device is \"cuda\"; GPUs come with a later version; "
             "allowed: cpu");
  }

  void check_present() const {
    const bool has_path = document_.find("model.path") != nullptr;
    if (has_path && job_.model.fresh)
      refuse(errc::config_conflict, "model.path",
             "model.path and model.fresh (" + document_.place_of("model.fresh")
               + ") exclude each other; keep one of the two");
    if (!has_path && !job_.model.fresh)
      missing("model.path", "model.path or model.fresh is missing; name a "
                            "Hugging Face folder, or the sizes of a new model");
    for (const auto& row : key_table())
      if (row.facts.need == presence::required && is_block_present(row))
        require(row.path);
    if (job_.model.fresh)
      require("model.tokenizer");
    if (job_.reward.kind == "python" && is_effective("reward.kind"))
      require("reward.python");
  }

  void check_used() const {
    for (const auto& [key, value] : document_.values())
      if (const auto* effect = missing_effect(*find_key(key), job_))
        throw failure{errc::config_unused_key,
                      value.place + ": " + key
                        + " has no effect in this job: it counts only with "
                        + effect->when + "; take it out, or set that"};
  }

  void check_values() const {
    check_objective(job_.train);
    if (job_.reward.kind == "python" && is_effective("reward.python"))
      check_function(job_.reward.python);
    if (job_.model.fresh)
      check_fresh(*job_.model.fresh);
    check_sampling("rollout.sampling", job_.rollout.sampling);
    if (job_.data.eval) {
      check_sampling("eval.sampling", job_.eval.sampling);
      check_eval(job_.eval);
    }
    check_optimizer("train", job_.train.optimizer, job_.train.steps);
    check_optimizer("sft_warmup", job_.sft_warmup.optimizer,
                    job_.sft_warmup.steps);
    at_most("train.minibatches", job_.train.minibatches,
            "train.prompts_per_step", job_.train.prompts_per_step);
    if (is_effective("train.prompts_per_step"))
      check_batch();
  }

private:
  [[noreturn]] void refuse(errc code, const std::string& key,
                           const std::string& text) const {
    throw failure{code, document_.place_of(key) + ": " + text};
  }

  [[noreturn]] void missing(const std::string& key,
                            const std::string& text) const {
    refuse(errc::config_missing_key, key, text);
  }

  void require(const std::string& key) const {
    if (document_.find(key) == nullptr)
      missing(key, key
                     + " is missing; allowed: " + allowed_values(*find_key(key))
                     + " (" + find_key(key)->doc + ")");
  }

  [[nodiscard]] bool is_block_present(const key_row& row) const {
    auto copy = job_;
    return !std::holds_alternative<std::monostate>(row.member(copy));
  }

  [[nodiscard]] bool is_effective(const std::string& key) const {
    return missing_effect(*find_key(key), job_) == nullptr;
  }

  void at_most(const std::string& key, std::int64_t value,
               const std::string& other, std::int64_t limit) const {
    if (value > limit)
      refuse(errc::config_conflict, key,
             key + " is " + std::to_string(value) + ", but " + other + " is "
               + std::to_string(limit) + "; allowed: at most that");
  }

  void divides(const std::string& key, std::int64_t value,
               const std::string& whole_key, std::int64_t whole) const {
    if (whole % value != 0)
      refuse(errc::config_conflict, key,
             key + " is " + std::to_string(value) + ", but " + whole_key
               + " is " + std::to_string(whole)
               + "; allowed: a divisor of that");
  }

  /// What a step's groups say must fit into control messages: `train` has 12
  /// bytes for each group and 8 for each sample.
  void check_batch() const {
    const auto num_samples =
      job_.train.prompts_per_step * job_.train.samples_per_prompt;
    if (num_samples > max_samples_per_step)
      refuse(errc::config_conflict, "train.prompts_per_step",
             "train.prompts_per_step times train.samples_per_prompt is "
               + std::to_string(num_samples) + "; allowed: at most "
               + std::to_string(max_samples_per_step));
  }

  void check_fresh(const fresh_model_block& fresh) const {
    divides("model.fresh.num_heads", fresh.num_heads, "model.fresh.hidden_size",
            fresh.hidden_size);
    divides("model.fresh.num_kv_heads", fresh.num_kv_heads,
            "model.fresh.num_heads", fresh.num_heads);
    if (fresh.hidden_size / fresh.num_heads % 2 != 0)
      refuse(errc::config_conflict, "model.fresh.num_heads",
             "model.fresh.num_heads is " + std::to_string(fresh.num_heads)
               + ", which makes heads of width "
               + std::to_string(fresh.hidden_size / fresh.num_heads)
               + "; allowed: an even width, for the rotary halves");
    if (is_effective("rollout.sampling.max_new_tokens"))
      fits(job_.rollout.sampling, "rollout.sampling");
    if (job_.data.eval)
      fits(job_.eval.sampling, "eval.sampling");
  }

  void fits(const sampling_block& sampling, const std::string& block) const {
    const auto longest =
      job_.rollout.max_prompt_tokens + sampling.max_new_tokens;
    if (longest > job_.model.fresh->max_positions)
      refuse(errc::config_conflict, "rollout.max_prompt_tokens",
             "rollout.max_prompt_tokens plus " + block + ".max_new_tokens is "
               + std::to_string(longest) + ", but model.fresh.max_positions is "
               + std::to_string(job_.model.fresh->max_positions)
               + "; allowed: at most that");
  }

  void check_function(const std::string& text) const {
    const auto colon = text.rfind(':');
    if (colon == std::string::npos || colon + 1 == text.size()
        || !std::string_view{text}.substr(0, colon).ends_with(".py"))
      refuse(errc::config_out_of_range, "reward.python",
             "reward.python is \""
               + document_.find("reward.python")->node.Scalar()
               + "\"; allowed: FILE.py:FUNCTION");
  }

  void check_sampling(const std::string& block,
                      const sampling_block& sampling) const {
    if (is_effective(block + ".min_new_tokens"))
      at_most(block + ".min_new_tokens", sampling.min_new_tokens,
              block + ".max_new_tokens", sampling.max_new_tokens);
  }

  void check_eval(const eval_block& eval) const {
    for (const auto k : eval.pass_at)
      at_most("eval.pass_at", k, "eval.samples_per_prompt",
              eval.samples_per_prompt);
    if (eval.samples_per_prompt > 1 && eval.sampling.temperature == 0)
      refuse(errc::config_conflict, "eval.samples_per_prompt",
             "eval.samples_per_prompt is "
               + std::to_string(eval.samples_per_prompt)
               + ", but eval.sampling.temperature is 0, which gives all "
                 "completions of a row the same tokens; allowed: 1, or a "
                 "temperature above 0");
  }

  /// Refuses a value of the train block together with another one.
  void exclude(const std::string& key, const std::string& other,
               const std::string& why) const {
    const auto text = [this](const std::string& k) {
      return "train." + k + " is " + value_text(*find_key("train." + k), job_);
    };
    refuse(errc::config_conflict, "train." + key,
           text(key) + ", but " + text(other) + "; allowed: " + why);
  }

  void check_objective(const train_block& t) const {
    if (t.algorithm == "sft") {
      if (t.loss_aggregation != "token_mean"
          && t.loss_aggregation != "sequence_mean")
        exclude("loss_aggregation", "algorithm",
                "token_mean or sequence_mean under sft");
      return;
    }
    if (t.ratio_level == "sequence") {
      if (t.loss_aggregation != "sequence_mean")
        exclude("ratio_level", "loss_aggregation",
                "sequence_mean, since the loss is one of sequences");
      if (t.policy_loss == "cispo")
        exclude("ratio_level", "policy_loss",
                "clipped, since cispo weighs the logprobs of tokens");
      if (t.importance_correction.starts_with("token"))
        exclude("ratio_level", "importance_correction",
                "none, sequence_truncate or sequence_mask");
    }
    if (t.dual_clip > 0 && t.dual_clip <= 1)
      refuse(errc::config_out_of_range, "train.dual_clip",
             "train.dual_clip is "
               + value_text(*find_key("train.dual_clip"), job_)
               + "; allowed: a number above 1, or 0 for no bound");
    at_most("train.overlong_margin_tokens", t.overlong_margin_tokens,
            "rollout.sampling.max_new_tokens",
            job_.rollout.sampling.max_new_tokens);
  }

  void check_optimizer(const std::string& stage,
                       const optimizer_block& optimizer,
                       std::int64_t num_steps) const {
    const auto block = stage + ".optimizer";
    if (is_effective(block + ".decay_steps")) {
      require(block + ".decay_steps");
      at_most(block + ".decay_steps", optimizer.decay_steps, stage + ".steps",
              num_steps);
    }
    if (is_effective(block + ".min_learning_rate")
        && optimizer.min_learning_rate > optimizer.learning_rate)
      refuse(errc::config_conflict, block + ".min_learning_rate",
             block + ".min_learning_rate is "
               + value_text(*find_key(block + ".min_learning_rate"), job_)
               + ", but " + block + ".learning_rate is "
               + value_text(*find_key(block + ".learning_rate"), job_)
               + "; allowed: at most that");
  }

  const job_config& job_;
  const job_document& document_;
};

} // namespace

void check_training(const job_config& job, const std::string& file) {
  if (job.train.algorithm == "grpo" && job.rollout.sampling.temperature == 0)
    throw failure{errc::config_conflict,
                  file
                    + ": rollout.sampling.temperature is 0, which gives all "
                      "samples of a prompt the same tokens, so that "
                      "train.algorithm: grpo has nothing to compare; allowed: "
                      "above 0"};
}

void check_job(const job_config& job, const job_document& document) {
  const job_checks checks{job, document};
  checks.check_supported();
  checks.check_present();
  checks.check_used();
  checks.check_values();
}

} // namespace troupe::runtime::config
