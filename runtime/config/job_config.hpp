// SPDX-License-Identifier: Apache-2.0
//
// A job as the runtime sees it: defaults filled in, everything checked. The
// YAML keys are the member names, block by block (docs/configuration.md lists
// them). Reading is strict: see read_job.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe::runtime::config {

struct run_block {
  std::string directory; ///< made if absent; required
  std::uint64_t seed = 1;
  std::int64_t save_every_steps = 0; ///< 0: only at the end
  std::int64_t keep_checkpoints = 2; ///< newest sealed ones that stay
  std::int64_t samples_to_log = 4;   ///< groups a step in rollouts.jsonl
};

/// A Llama made from nothing; present instead of model.path.
struct fresh_model_block {
  std::int64_t hidden_size = 0, intermediate_size = 0, num_layers = 0;
  std::int64_t num_heads = 0, num_kv_heads = 0;
  std::int64_t max_positions = 2048;
  double rope_theta = 10000;
  double rms_norm_eps = 1e-5;
  double initializer_range = 0.02;
  bool tie_embeddings = true;
  std::string mlp = "gated_mlp"; ///< module type, or one of a plug-in
};

struct model_block {
  std::string path; ///< Hugging Face folder; or `fresh`
  std::optional<fresh_model_block> fresh;
  std::string tokenizer;            ///< folder or tokenizer.json; default: path
  std::string reference_path;       ///< for KL; default: the starting weights
  std::vector<std::string> plugins; ///< shared objects with module types
};

struct placement_block {
  std::int64_t ranks = 1;            ///< more than 1 is refused by name
  std::int64_t threads_per_rank = 0; ///< 0: all cores
  std::string device = "cpu";        ///< cuda is refused by name
};

struct data_source_block {
  std::vector<std::string> file; ///< files, folders and patterns
  std::string prompt_field = "prompt";
  std::string answer_field = "answer"; ///< for SFT, the completion
};

struct data_block {
  data_source_block train;
  std::optional<data_source_block> eval; ///< fields default to those of train
  bool shuffle = true;
  std::string on_bad_row = "stop"; ///< or skip
};

struct sampling_block {
  double temperature = 1.0; ///< 0: greedy
  double top_p = 1.0;
  std::int64_t top_k = 0; ///< 0: off
  std::int64_t max_new_tokens = 64;
  std::int64_t min_new_tokens = 0; ///< stop ids are not drawn before
  std::vector<std::int64_t> stop_token_ids = {}; ///< beside the model's
};

struct rollout_block {
  sampling_block sampling;
  std::int64_t slots = 32; ///< rows of the decode batch
  std::int64_t max_prompt_tokens = 512;
  std::int64_t quantum_steps = 8; ///< decode steps before a control check
};

struct reward_block {
  std::string kind = "exact_match"; ///< exact_match, final_number, python
  std::string python;               ///< file.py:function
  std::string interpreter = "python3";
  std::int64_t workers = 1;
  double timeout_s = 30;
  std::string on_error = "zero"; ///< zero, drop, stop
};

struct optimizer_block {
  double learning_rate = 1e-5;
  std::string schedule = "constant"; ///< constant, linear, cosine, wsd
  std::int64_t warmup_steps = 0;
  std::int64_t decay_steps = 0; ///< wsd: the last ones, over which it falls
  double min_learning_rate = 0; ///< where it ends, unless constant
  double weight_decay = 0;
  /// Patterns of parameters that do not decay.
  std::vector<std::string> no_weight_decay = {"*norm.weight", "*.bias"};
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double max_grad_norm = 1.0; ///< 0: no clipping
};

/// Supervised steps before the main algorithm; 0 steps: none.
/// Of one step, over all groups, and rows of a supervised step: so that each
/// message about them stays below 64 KiB.
constexpr std::int64_t max_samples_per_step = 4096;

struct sft_warmup_block {
  std::int64_t steps = 0;
  std::int64_t batch_size = 32;
  optimizer_block optimizer;
};

struct train_block {
  std::string algorithm = "grpo"; ///< grpo, sft
  std::int64_t steps = 0; ///< optimizer steps of sft, rollout batches of grpo
  std::int64_t batch_size = 32; ///< sft: rows a step
  std::int64_t prompts_per_step = 8;
  std::int64_t samples_per_prompt = 8;
  std::int64_t minibatches = 1;          ///< optimizer steps a rollout batch
  std::int64_t microbatch_tokens = 4096; ///< packed tokens of one forward
  std::int64_t logit_chunk_tokens = 256; ///< rows of logits held at once
  std::int64_t epochs = 1;               ///< passes over a rollout batch
  std::int64_t max_resample_rounds = 0;  ///< for groups without spread; 0: off
  // Each name below is explained where kernels/ implements it.
  std::string advantage_baseline = "group_mean";
  std::string advantage_scale = "group_std";
  bool overlong_filter = false;            ///< truncated samples: no loss
  std::int64_t overlong_margin_tokens = 0; ///< soft penalty; 0: off
  double overlong_penalty = 1.0;
  std::string policy_loss = "clipped"; ///< or cispo
  std::string ratio_level = "token";   ///< or sequence (GSPO)
  double clip_low = 0.2, clip_high = 0.2;
  double dual_clip = 0; ///< 0: off
  std::string importance_correction = "none";
  double importance_min = 0, importance_max = 2;
  double kl_coefficient = 0;
  std::string kl_estimator = "k3";
  std::string kl_in = "loss"; ///< or reward
  double entropy_coefficient = 0;
  std::string loss_aggregation = "token_mean";
  std::int64_t loss_length_tokens = 64; ///< of fixed_length
  std::int64_t max_nonfinite_steps = 3; ///< skipped in a row before the end
  std::vector<std::string> frozen = {}; ///< patterns of parameters
  optimizer_block optimizer;
};

struct eval_block {
  std::int64_t every_steps = 0; ///< 0: before and after only
  std::int64_t max_prompts = 256;
  std::int64_t samples_per_prompt = 1;
  std::vector<std::int64_t> pass_at = {}; ///< each k of pass@k
  /// Greedy unless set; the other keys default to the rollout's.
  sampling_block sampling = {.temperature = 0};
};

struct limits_block {
  double deadline_scale = 1.0; ///< multiplies every deadline
};

struct job_config {
  std::string source_file; ///< the YAML file, for error texts
  run_block run;
  model_block model;
  placement_block placement;
  data_block data;
  rollout_block rollout;
  reward_block reward;
  sft_warmup_block sft_warmup;
  train_block train;
  eval_block eval;
  limits_block limits;
};

} // namespace troupe::runtime::config
