// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/key_table.hpp"

#include "runtime/config/loss_options.hpp"

#include <utility>

namespace troupe::runtime::config {

namespace {

constexpr double max_count = 2147483647; // 2^31 - 1

key_effect when(std::string text, std::function<bool(const job_config&)> f) {
  return {std::move(text), std::move(f)};
}

bool is_grpo(const job_config& job) {
  return job.train.algorithm == "grpo";
}

key_effect under_grpo() {
  return when("train.algorithm: grpo", is_grpo);
}

key_effect if_evaluated() {
  return when("data.eval",
              [](const job_config& job) { return job.data.eval.has_value(); });
}

/// True for jobs that sample completions.
key_effect if_generating() {
  return when("train.algorithm: grpo, or data.eval", [](const job_config& job) {
    return is_grpo(job) || job.data.eval;
  });
}

key_facts count(double min, double max = max_count) {
  return {.min = min, .max = max};
}

key_facts one_of(std::vector<std::string_view> choices) {
  return {.choices = std::move(choices)};
}

key_facts path_from(path_base base, presence need = presence::optional) {
  return {.base = base, .need = need};
}

key_facts required(key_facts facts) {
  facts.need = presence::required;
  return facts;
}

/// Adds the rows of one block.
template <class Block>
class block_rows {
public:
  using getter = std::function<Block*(job_config&)>;

  block_rows(std::vector<key_row>& rows, std::string name, getter get,
             std::vector<key_effect> effects = {})
    : rows_(rows), name_(std::move(name)), get_(std::move(get)),
      effects_(std::move(effects)) {}

  template <class T>
  void key(const std::string& name, T Block::*member, key_facts facts,
           std::string doc, std::vector<key_effect> more = {}) {
    auto get = get_;
    auto effects = effects_;
    effects.insert(effects.end(), more.begin(), more.end());
    rows_.push_back({name_ + '.' + name,
                     [get, member](job_config& job) -> key_member {
                       if (auto* block = get(job))
                         return &(block->*member);
                       return {};
                     },
                     std::move(facts), std::move(doc), std::move(effects)});
  }

private:
  std::vector<key_row>& rows_;
  std::string name_;
  getter get_;
  std::vector<key_effect> effects_;
};

void add_run(std::vector<key_row>& rows) {
  block_rows<run_block> b{rows, "run", [](auto& job) { return &job.run; }};
  b.key("directory", &run_block::directory,
        path_from(path_base::current_folder, presence::required),
        "Folder that the run leaves behind; made if absent.");
  b.key("seed", &run_block::seed, {},
        "The one seed: of sampling, shuffling and fresh weights.");
  b.key("save_every_steps", &run_block::save_every_steps, count(0),
        "Steps between checkpoints; 0: only at the end.");
  b.key("keep_checkpoints", &run_block::keep_checkpoints, count(1),
        "Newest sealed checkpoints that stay.");
  b.key("samples_to_log", &run_block::samples_to_log, count(0),
        "Groups a step that go to rollouts.jsonl.", {under_grpo()});
}

void add_model(std::vector<key_row>& rows) {
  block_rows<model_block> b{rows, "model",
                            [](auto& job) { return &job.model; }};
  const auto folder = path_from(path_base::job_folder);
  b.key("path", &model_block::path, folder,
        "Hugging Face folder; this or model.fresh.");
  auto tokenizer = folder;
  tokenizer.inherits = "model.path";
  b.key("tokenizer", &model_block::tokenizer, tokenizer,
        "Folder with tokenizer.json, or that file; required with "
        "model.fresh.");
  b.key("reference_path", &model_block::reference_path, folder,
        "Folder of the KL's reference model; without it the starting "
        "weights.",
        {under_grpo(),
         when("train.kl_coefficient above 0", [](const job_config& job) {
           return job.train.kl_coefficient > 0;
         })});
  b.key("plugins", &model_block::plugins, folder,
        "Shared objects that bring module types.");

  using fresh = fresh_model_block;
  block_rows<fresh> f{rows, "model.fresh", [](auto& job) {
                        return job.model.fresh ? &*job.model.fresh : nullptr;
                      }};
  f.key("hidden_size", &fresh::hidden_size, required(count(2, 65536)),
        "Width of the model.");
  f.key("intermediate_size", &fresh::intermediate_size,
        required(count(1, 1048576)), "Width of the MLP.");
  f.key("num_layers", &fresh::num_layers, required(count(1, 1024)),
        "Decoder layers.");
  f.key("num_heads", &fresh::num_heads, required(count(1, 1024)),
        "Query heads; divides hidden_size into even parts.");
  auto kv_heads = count(1, 1024);
  kv_heads.inherits = "model.fresh.num_heads";
  f.key("num_kv_heads", &fresh::num_kv_heads, kv_heads,
        "Key/value heads; divides num_heads.");
  f.key("max_positions", &fresh::max_positions, count(2, 1048576),
        "Longest sequence in tokens.");
  f.key("rope_theta", &fresh::rope_theta, {.min = 1},
        "Base of the rotary frequencies.");
  f.key("rms_norm_eps", &fresh::rms_norm_eps,
        {.min = 0, .max = 1, .open_min = true}, "Added to the mean square.");
  f.key("initializer_range", &fresh::initializer_range,
        {.min = 0, .max = 10, .open_min = true},
        "Standard deviation of the fresh weights.");
  f.key("tie_embeddings", &fresh::tie_embeddings, {},
        "The output projection is the embedding.");
  f.key("mlp", &fresh::mlp, {},
        "Module type of the MLP: gated_mlp, or one of a plug-in.");
}

void add_placement(std::vector<key_row>& rows) {
  block_rows<placement_block> b{rows, "placement",
                                [](auto& job) { return &job.placement; }};
  b.key("ranks", &placement_block::ranks, count(1),
        "Ranks of the job. More than 1 is refused in this version.");
  b.key("threads_per_rank", &placement_block::threads_per_rank, count(0, 4096),
        "Threads that compute, for each rank; 0: all cores.");
  b.key("device", &placement_block::device, one_of({"cpu", "cuda"}),
        "Where ranks compute. cuda is refused in this version.");
}

void add_data(std::vector<key_row>& rows) {
  using source = data_source_block;
  const auto file = path_from(path_base::job_folder, presence::required);
  block_rows<source> train{rows, "data.train",
                           [](auto& job) { return &job.data.train; }};
  train.key("file", &source::file, file,
            "JSONL with an object a line, plain or compressed with gzip or "
            "zstd; a folder of such files; a pattern with *, ? or [...]; or a "
            "list of these.");
  train.key("prompt_field", &source::prompt_field, {},
            "Field that holds the prompt's text; a.b is the field b in the "
            "field a.");
  train.key("answer_field", &source::answer_field, {},
            "Field that holds the answer; for SFT and the warm-up the "
            "completion.");
  block_rows<source> eval{rows, "data.eval", [](auto& job) {
                            return job.data.eval ? &*job.data.eval : nullptr;
                          }};
  eval.key("file", &source::file, file,
           "The same for rows that are held out; with it the job is "
           "evaluated.");
  eval.key("prompt_field", &source::prompt_field,
           {.inherits = "data.train.prompt_field"},
           "Field that holds the prompt's text.");
  eval.key("answer_field", &source::answer_field,
           {.inherits = "data.train.answer_field"},
           "Field that holds the answer.");
  block_rows<data_block> b{rows, "data", [](auto& job) { return &job.data; }};
  b.key("shuffle", &data_block::shuffle, {},
        "A new order of the training rows in each pass.");
  b.key("on_bad_row", &data_block::on_bad_row, one_of({"stop", "skip"}),
        "What a row does that is no JSON, lacks a field, or has an answer "
        "that no completion can match: the job is refused, or the row is left "
        "out and counted.");
}

using sampling_getter = std::function<sampling_block*(job_config&)>;

void add_sampling(std::vector<key_row>& rows, const std::string& name,
                  const sampling_getter& get, key_effect effect, bool is_eval) {
  using block = sampling_block;
  block_rows<block> b{rows, name, get, {std::move(effect)}};
  const auto drawn =
    when(name + ".temperature above 0", [get](const job_config& job) {
      auto copy = job;
      return get(copy)->temperature > 0;
    });
  auto add = [&](const std::string& key, auto member, key_facts facts,
                 std::string doc, std::vector<key_effect> more = {}) {
    if (is_eval && key != "temperature")
      for (const auto& row : rows)
        if (row.path == "rollout.sampling." + key)
          facts.inherits = row.path;
    b.key(key, member, std::move(facts), std::move(doc), std::move(more));
  };
  add("temperature", &block::temperature, {.min = 0, .max = 100},
      "Divides the logits; 0: greedy.");
  add("top_p", &block::top_p, {.min = 0, .max = 1, .open_min = true},
      "Keeps the likeliest tokens up to this probability; 1: off.", {drawn});
  add("top_k", &block::top_k, count(0),
      "Keeps this many of the likeliest tokens; 0: off.", {drawn});
  add("max_new_tokens", &block::max_new_tokens, count(1, 1048576),
      "Budget of a completion.");
  add("min_new_tokens", &block::min_new_tokens, count(0, 1048576),
      "Stop ids are not drawn before.");
  add("stop_token_ids", &block::stop_token_ids, count(0),
      "Stop ids beside the model's own.");
}

void add_rollout(std::vector<key_row>& rows) {
  add_sampling(
    rows, "rollout.sampling", [](auto& job) { return &job.rollout.sampling; },
    under_grpo(), false);
  block_rows<rollout_block> b{
    rows, "rollout", [](auto& job) { return &job.rollout; }, {if_generating()}};
  b.key("slots", &rollout_block::slots, count(1, 65536),
        "Rows of the decode batch.");
  b.key("max_prompt_tokens", &rollout_block::max_prompt_tokens,
        count(1, 1048576),
        "Longest prompt; a longer one is an error before step 0.");
  b.key("quantum_steps", &rollout_block::quantum_steps, count(1, 65536),
        "Decode steps of one piece of work on the compute queue.");
}

void add_reward(std::vector<key_row>& rows) {
  block_rows<reward_block> b{
    rows, "reward", [](auto& job) { return &job.reward; }, {if_generating()}};
  const std::vector<key_effect> python{
    when("reward.kind: python",
         [](const job_config& job) { return job.reward.kind == "python"; })};
  b.key("kind", &reward_block::kind,
        one_of({"exact_match", "final_number", "python"}),
        "exact_match: completion and answer are the same text, white space at "
        "the ends aside. final_number: their last numbers are equal. python: "
        "a function of yours.");
  b.key("python", &reward_block::python, path_from(path_base::job_folder),
        "The function, as FILE.py:FUNCTION; required with kind python.",
        python);
  b.key("interpreter", &reward_block::interpreter, {},
        "Python that runs it: a command on PATH or a path.", python);
  b.key("workers", &reward_block::workers, count(1, 1024),
        "Processes that grade at the same time.", python);
  b.key("timeout_s", &reward_block::timeout_s,
        {.min = 0, .max = 86400, .open_min = true},
        "Longest time of one call, in seconds; then the worker is killed.",
        python);
  b.key("on_error", &reward_block::on_error, one_of({"zero", "drop", "stop"}),
        "What a failed call does: reward 0, the group is dropped, the job "
        "stops.",
        python);
}

void add_optimizer(std::vector<key_row>& rows, const std::string& name,
                   const std::function<optimizer_block*(job_config&)>& get,
                   std::vector<key_effect> effects) {
  using block = optimizer_block;
  block_rows<block> b{rows, name, get, std::move(effects)};
  b.key("learning_rate", &block::learning_rate, {.min = 0, .max = 10},
        "AdamW's learning rate, after the warm-up.");
  b.key("schedule", &block::schedule,
        one_of({"constant", "linear", "cosine", "wsd"}),
        "How it falls until the last step; wsd: only over the last "
        "decay_steps (warm-up, stable, decay).");
  b.key("warmup_steps", &block::warmup_steps, count(0),
        "Optimizer steps over which it rises from 0.");
  b.key("min_learning_rate", &block::min_learning_rate, {.min = 0, .max = 10},
        "Where it ends.",
        {when(name + ".schedule: linear, cosine or wsd",
              [get](const job_config& job) {
                auto copy = job;
                return get(copy)->schedule != "constant";
              })});
  b.key("decay_steps", &block::decay_steps, count(1),
        "Last optimizer steps, over which it falls in a straight line.",
        {when(name + ".schedule: wsd", [get](const job_config& job) {
          auto copy = job;
          return get(copy)->schedule == "wsd";
        })});
  b.key("weight_decay", &block::weight_decay, {.min = 0, .max = 10},
        "AdamW's decoupled weight decay.");
  b.key("no_weight_decay", &block::no_weight_decay, {},
        "Shell patterns of the names of parameters that do not decay.",
        {when(name + ".weight_decay above 0", [get](const job_config& job) {
          auto copy = job;
          return get(copy)->weight_decay > 0;
        })});
  b.key("beta1", &block::beta1, {.min = 0, .max = 1, .open_max = true},
        "Decay of the mean.");
  b.key("beta2", &block::beta2, {.min = 0, .max = 1, .open_max = true},
        "Decay of the mean square.");
  b.key("epsilon", &block::epsilon, {.min = 0, .max = 1, .open_min = true},
        "Added to the root of the mean square.");
  b.key("max_grad_norm", &block::max_grad_norm, {.min = 0},
        "Gradients are scaled down to this global norm; 0: never.");
}

void add_warmup(std::vector<key_row>& rows) {
  block_rows<sft_warmup_block> b{rows,
                                 "sft_warmup",
                                 [](auto& job) { return &job.sft_warmup; },
                                 {under_grpo()}};
  const auto on = when("sft_warmup.steps above 0", [](const job_config& job) {
    return job.sft_warmup.steps > 0;
  });
  b.key("steps", &sft_warmup_block::steps, count(0),
        "Supervised steps on data.train before the first rollout.");
  b.key("batch_size", &sft_warmup_block::batch_size,
        count(1, max_samples_per_step), "Rows a step.", {on});
  add_optimizer(rows, "sft_warmup.optimizer",
                [](auto& job) { return &job.sft_warmup.optimizer; },
                {under_grpo(), on});
}

/// What the loss of a policy step is made of; docs/numerics.md has it in one
/// place.
void add_objective(block_rows<train_block>& b) {
  using block = train_block;
  const auto grpo = under_grpo();
  const auto with = [&](const char* text, bool (*holds)(const train_block&)) {
    return std::vector<key_effect>{
      grpo,
      when(text, [holds](const job_config& job) { return holds(job.train); })};
  };
  b.key("epochs", &block::epochs, count(1, 1024),
        "Passes over a rollout batch, each with its minibatches.", {grpo});
  b.key("max_resample_rounds", &block::max_resample_rounds, count(0, 1024),
        "Groups whose rewards are all equal are replaced by groups of further "
        "prompts, in at most this many rounds a step; 0: they are trained on.",
        {grpo});
  b.key("advantage_baseline", &block::advantage_baseline,
        one_of(loss_names::baselines()),
        "What is taken off a reward: the group's mean, or the mean of the "
        "others (RLOO).",
        {grpo});
  b.key("advantage_scale", &block::advantage_scale,
        one_of(loss_names::scales()),
        "What divides that: the standard deviation of the group's rewards, "
        "nothing (Dr. GRPO), that of all rewards of the step, or that of all "
        "its differences.",
        {grpo});
  b.key("overlong_filter", &block::overlong_filter, {},
        "Completions that ended by max_new_tokens have no loss; their rewards "
        "stay in the baselines.",
        {grpo});
  b.key("overlong_margin_tokens", &block::overlong_margin_tokens,
        count(0, 1048576),
        "Over the last so many tokens before max_new_tokens a reward falls by "
        "up to overlong_penalty (DAPO); 0: it does not.",
        {grpo});
  b.key("overlong_penalty", &block::overlong_penalty, {.min = 0, .max = 1e6},
        "What a completion of max_new_tokens loses.",
        with("train.overlong_margin_tokens above 0",
             [](const block& t) { return t.overlong_margin_tokens > 0; }));
  b.key("policy_loss", &block::policy_loss, one_of(loss_names::objectives()),
        "clipped: PPO's minimum. cispo: the clipped ratio is a constant weight "
        "of the logprob.",
        {grpo});
  b.key("ratio_level", &block::ratio_level, one_of({"token", "sequence"}),
        "Ratio of a token's probabilities, or the geometric mean over a "
        "sequence (GSPO).",
        {grpo});
  b.key("clip_low", &block::clip_low, {.min = 0, .max = 1},
        "The ratio is clipped at 1 - clip_low.", {grpo});
  b.key("clip_high", &block::clip_high, {.min = 0, .max = 100},
        "The ratio is clipped at 1 + clip_high.", {grpo});
  b.key("dual_clip", &block::dual_clip, {.min = 0, .max = 1000},
        "Where the advantage is below 0 the ratio counts at most this, above "
        "1; 0: no bound.",
        with("train.policy_loss: clipped",
             [](const block& t) { return t.policy_loss == "clipped"; }));
  b.key("importance_correction", &block::importance_correction,
        one_of(loss_names::corrections()),
        "Weights for the gap between rollout and trainer at the same weights, "
        "of a token or a sequence: clamped to [importance_min, "
        "importance_max], or 0 outside. The ratio then starts at the trainer's "
        "logprobs.",
        {grpo});
  const auto corrected =
    with("train.importance_correction other than none", has_importance);
  b.key("importance_min", &block::importance_min, {.min = 0, .max = 1},
        "Lowest such weight.", corrected);
  b.key("importance_max", &block::importance_max, {.min = 1, .max = 1e6},
        "Highest such weight.", corrected);
  b.key("kl_coefficient", &block::kl_coefficient, {.min = 0, .max = 1000},
        "Weight of the KL to the reference model; 0: none is loaded.", {grpo});
  const auto with_kl = with("train.kl_coefficient above 0", [](const block& t) {
    return t.kl_coefficient > 0;
  });
  b.key("kl_estimator", &block::kl_estimator, one_of(loss_names::estimators()),
        "With d = reference logprob - policy logprob: k1 is -d, k2 is d^2 / 2, "
        "k3 is exp(d) - 1 - d.",
        with_kl);
  b.key("kl_in", &block::kl_in, one_of({"loss", "reward"}),
        "Added to each token's loss, or its sum over a completion taken off "
        "the reward.",
        with_kl);
  b.key("entropy_coefficient", &block::entropy_coefficient,
        {.min = 0, .max = 1000},
        "Weight of the mean entropy of the tokens, which is taken off the "
        "loss.",
        {grpo});
  b.key(
    "loss_aggregation", &block::loss_aggregation,
    one_of(loss_names::aggregations()),
    "Mean over all tokens; over sequences of their token means; sum by "
    "sequences times loss_length_tokens (Dr. GRPO); sum by sequences. Under "
    "sft one of the first two.");
  b.key(
    "loss_length_tokens", &block::loss_length_tokens,
    {.min = 1, .max = 1048576, .inherits = "rollout.sampling.max_new_tokens"},
    "The length that fixed_length divides by.",
    with("train.loss_aggregation: fixed_length",
         [](const block& t) { return t.loss_aggregation == "fixed_length"; }));
}

void add_train(std::vector<key_row>& rows) {
  using block = train_block;
  block_rows<block> b{rows, "train", [](auto& job) { return &job.train; }};
  const std::vector<key_effect> grpo{under_grpo()};
  b.key("algorithm", &block::algorithm, one_of({"grpo", "sft"}),
        "grpo: rollouts, rewards, policy gradient. sft: the answers as they "
        "are.");
  b.key("steps", &block::steps, required(count(1)),
        "Rollout batches of grpo, optimizer steps of sft.");
  b.key("batch_size", &block::batch_size, count(1, max_samples_per_step),
        "Rows a step.",
        {when("train.algorithm: sft", [](const job_config& job) {
          return job.train.algorithm == "sft";
        })});
  b.key("prompts_per_step", &block::prompts_per_step, count(1, 2048),
        "Groups of a rollout batch.", grpo);
  b.key("samples_per_prompt", &block::samples_per_prompt,
        count(2, max_samples_per_step),
        "Completions of a group; their mean reward is the baseline.", grpo);
  b.key("minibatches", &block::minibatches, count(1, 2048),
        "Optimizer steps on one rollout batch.", grpo);
  b.key("microbatch_tokens", &block::microbatch_tokens, count(1, 16777216),
        "Packed tokens of one forward, a shared prompt once; less takes less "
        "memory.");
  b.key("logit_chunk_tokens", &block::logit_chunk_tokens, count(1, 1048576),
        "Rows of logits that are held at once.");
  add_objective(b);
  b.key("max_nonfinite_steps", &block::max_nonfinite_steps, count(0),
        "Updates in a row that may be left out because the loss is not finite "
        "or no sample has a token; one more ends the job.");
  b.key("frozen", &block::frozen, {},
        "Shell patterns of the names of parameters that are not trained, as in "
        "\"model.embed_tokens.*\"; in the warm-up neither.");
  add_optimizer(rows, "train.optimizer",
                [](auto& job) { return &job.train.optimizer; }, {});
}

void add_eval(std::vector<key_row>& rows) {
  block_rows<eval_block> b{
    rows, "eval", [](auto& job) { return &job.eval; }, {if_evaluated()}};
  b.key("every_steps", &eval_block::every_steps, count(0),
        "Steps between evaluations; 0: before and after only.");
  b.key("max_prompts", &eval_block::max_prompts, count(1, max_samples_per_step),
        "The first rows of data.eval, up to this many.");
  b.key("samples_per_prompt", &eval_block::samples_per_prompt,
        count(1, max_samples_per_step),
        "Completions of a row; the accuracy is the mean over them (avg@n).");
  b.key("pass_at", &eval_block::pass_at, count(1, max_samples_per_step),
        "Each k for which the chance is told that one of k completions is "
        "correct (pass@k, unbiased).");
  add_sampling(
    rows, "eval.sampling", [](auto& job) { return &job.eval.sampling; },
    if_evaluated(), true);
}

void add_limits(std::vector<key_row>& rows) {
  block_rows<limits_block> b{rows, "limits",
                             [](auto& job) { return &job.limits; }};
  b.key("deadline_scale", &limits_block::deadline_scale,
        {.min = 0, .max = 1000, .open_min = true},
        "Multiplies every deadline of the table below.");
}

} // namespace

const std::vector<key_row>& key_table() {
  static const auto rows = [] {
    std::vector<key_row> out;
    add_run(out);
    add_model(out);
    add_placement(out);
    add_data(out);
    add_rollout(out);
    add_reward(out);
    add_warmup(out);
    add_train(out);
    add_eval(out);
    add_limits(out);
    return out;
  }();
  return rows;
}

} // namespace troupe::runtime::config
