// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/read_job.hpp"

#include "tests/runtime/config/sample_jobs.hpp"
#include "tests/support/expect_failure.hpp"

#include <filesystem>
#include <fstream>

#include "tests/support/doctest.hpp"

using namespace troupe::runtime::config;
using troupe::protocols::errc;
using troupe::tests::everything_on;
using troupe::tests::expect_failure;
using troupe::tests::grpo_job;
using troupe::tests::read;

namespace fs = std::filesystem;

TEST_SUITE_BEGIN("runtime.config.read_job");

namespace {

struct bad_job {
  const char* label;
  std::string text;
  std::vector<std::string> overrides;
  errc code;
  std::vector<std::string> pieces;
};

void check(const bad_job& job) {
  CAPTURE(job.label);
  const auto text =
    expect_failure(job.code, {}, [&job] { read(job.text, job.overrides); });
  CAPTURE(text);
  for (const auto& piece : job.pieces) {
    CAPTURE(piece);
    CHECK(text.find(piece) != std::string::npos);
  }
}

} // namespace

TEST_CASE("a minimal job reads, with defaults and absolute paths") {
  const auto job = read(grpo_job);

  CHECK(job.source_file == "jobs/job.yaml");
  CHECK(job.run.seed == 1);
  CHECK(job.train.steps == 10);
  CHECK(job.model.path == (fs::current_path() / "jobs/llama").string());
  CHECK(job.model.tokenizer == job.model.path);
  CHECK(job.data.train.file
        == std::vector{(fs::current_path() / "jobs/train.jsonl").string()});
  CHECK(job.run.directory == (fs::current_path() / "runs/one").string());
  CHECK_FALSE(job.model.fresh.has_value());
  CHECK_FALSE(job.data.eval.has_value());
}

TEST_CASE("paths of overrides start at the current folder") {
  const auto job = read(grpo_job, {"model.path=other"});

  CHECK(job.model.path == (fs::current_path() / "other").string());
}

TEST_CASE("an override wins over the file, and null takes a key out") {
  CHECK(read(grpo_job, {"train.steps=7"}).train.steps == 7);
  CHECK(read(grpo_job + "  batch_size: 4\n",
             {"train.algorithm=sft", "train.batch_size=null"})
          .train.batch_size
        == 32);
  CHECK(read(grpo_job, everything_on).model.fresh->num_kv_heads == 4);
}

TEST_CASE("text on the command line is taken as it is") {
  CHECK(
    read(grpo_job, {"data.train.prompt_field=a: [b"}).data.train.prompt_field
    == "a: [b");
  CHECK(read(grpo_job, {"rollout.sampling.stop_token_ids=[3, 4]"})
          .rollout.sampling.stop_token_ids
        == std::vector<std::int64_t>{3, 4});
}

TEST_CASE("a text is a list of one, on the command line as it is") {
  const auto files = [](const std::string& value) {
    return read(grpo_job, {"data.train.file=" + value}).data.train.file;
  };

  CHECK(files("/a b: c.jsonl") == std::vector<std::string>{"/a b: c.jsonl"});
  CHECK(files("[/a.jsonl, '/b*']")
        == std::vector<std::string>{"/a.jsonl", "/b*"});
}

TEST_CASE("evaluation is greedy and otherwise as the rollout") {
  const auto job =
    read(grpo_job, {"data.eval.file=e.jsonl", "data.train.prompt_field=q",
                    "rollout.sampling.max_new_tokens=9",
                    "rollout.sampling.temperature=0.7"});

  CHECK(job.eval.sampling.temperature == 0);
  CHECK(job.eval.sampling.max_new_tokens == 9);
  CHECK(job.data.eval->prompt_field == "q");
}

TEST_CASE("the resolved job reads back to itself, from another folder") {
  for (const auto& overrides :
       {std::vector<std::string>{},
        everything_on,
        {"train.algorithm=sft", "train.optimizer.learning_rate=0.1"},
        {"model.plugins=[a.so, \"b \\\"c\\\".so\"]"}}) {
    const auto first = write_resolved(read(grpo_job, overrides));
    CAPTURE(first);
    const auto second =
      write_resolved(read_job_text(first, "/elsewhere/r.yaml"));

    CHECK(second == first);
  }
}

TEST_CASE("a key with a dot belongs to the command line") {
  check({"at the top",
         "train.steps: 5\n" + grpo_job,
         {},
         errc::config_unknown_key,
         {"jobs/job.yaml:1: ", "the key \"train.steps\" has a dot",
          "write train: and the rest"}});
  check({"in a block",
         grpo_job + "  optimizer.learning_rate: 1\n",
         {},
         errc::config_unknown_key,
         {"jobs/job.yaml:10: ", "write optimizer: and"}});
}

TEST_CASE("a misspelt key is refused with file, line and the nearest key") {
  check({"in a block",
         grpo_job + "  stesp: 3\n",
         {},
         errc::config_unknown_key,
         {"jobs/job.yaml:10: ", "\"stesp\"", "in train",
          "did you mean \"steps\"?", "prompts_per_step"}});
  check({"at the top",
         grpo_job + "evla:\n  max_prompts: 3\n",
         {},
         errc::config_unknown_key,
         {"jobs/job.yaml:10: ", "\"evla\"", "\"eval\"", "in the job"}});
  check({"in another block",
         grpo_job + "  learning_rate: 3\n",
         {},
         errc::config_unknown_key,
         {"\"learning_rate\"", "\"sft_warmup.optimizer.learning_rate\""}});
  check({"command line",
         grpo_job,
         {"train.stps=3"},
         errc::config_unknown_key,
         {"command line: train.stps=3: ", "\"steps\""}});
  check({"command line, block",
         grpo_job,
         {"trian.steps=3"},
         errc::config_unknown_key,
         {"command line: trian.steps=3: ", "\"train\""}});
}

TEST_CASE("a key without effect is refused with what it needs") {
  check({"sft with KL",
         grpo_job + "  algorithm: sft\n  kl_coefficient: 0.1\n",
         {},
         errc::config_unused_key,
         {"jobs/job.yaml:11: train.kl_coefficient", "train.algorithm: grpo"}});
  check({"made so by an override",
         grpo_job + "  samples_per_prompt: 4\n",
         {"train.algorithm=sft"},
         errc::config_unused_key,
         {"jobs/job.yaml:10: train.samples_per_prompt"}});
  check({"python of another kind",
         grpo_job + "reward:\n  python: f.py:g\n",
         {},
         errc::config_unused_key,
         {"jobs/job.yaml:11: reward.python", "reward.kind: python"}});
  check({"rollout under sft",
         grpo_job,
         {"train.algorithm=sft", "rollout.slots=4"},
         errc::config_unused_key,
         {"command line: rollout.slots=4: rollout.slots",
          "train.algorithm: grpo, or data.eval"}});
  check({"filters of greedy",
         grpo_job,
         {"rollout.sampling.temperature=0", "rollout.sampling.top_k=4"},
         errc::config_unused_key,
         {"rollout.sampling.temperature above 0"}});
  check({"eval without data",
         grpo_job,
         {"eval.every_steps=4"},
         errc::config_unused_key,
         {"data.eval"}});
}

TEST_CASE("a wrong type is refused with value and what is allowed") {
  check({"text for a number",
         grpo_job,
         {"train.steps=ten"},
         errc::config_wrong_type,
         {"command line: train.steps=ten: ", "train.steps is \"ten\"",
          "a whole number from 1"}});
  check({"quoted number",
         grpo_job + "  batch_size: \"3\"\n",
         {},
         errc::config_wrong_type,
         {"jobs/job.yaml:10: train.batch_size is \"3\" in quotes"}});
  check({"fraction for a whole number",
         grpo_job,
         {"train.steps=1.5"},
         errc::config_wrong_type,
         {"\"1.5\"", "whole number"}});
  check({"hexadecimal",
         grpo_job,
         {"train.steps=0x10"},
         errc::config_wrong_type,
         {"\"0x10\""}});
  check({"yes for true",
         grpo_job,
         {"data.shuffle=yes"},
         errc::config_wrong_type,
         {"\"yes\"", "true or false"}});
  check({"list for text",
         grpo_job + "  algorithm: [grpo]\n",
         {},
         errc::config_wrong_type,
         {"jobs/job.yaml:10: ", "a list", "grpo"}});
  check({"scalar for a list",
         grpo_job,
         {"rollout.sampling.stop_token_ids=3"},
         errc::config_wrong_type,
         {"\"3\"", "a list of whole numbers"}});
  check({"empty value",
         grpo_job + "  algorithm:\n",
         {},
         errc::config_wrong_type,
         {"train.algorithm is empty"}});
  check({"scalar for a block",
         grpo_job + "eval: 3\n",
         {},
         errc::config_wrong_type,
         {"jobs/job.yaml:10: eval is no block", "every_steps"}});
  check({"block set at once",
         grpo_job,
         {"eval=3"},
         errc::config_wrong_type,
         {"command line: eval=3: eval is a block", "eval=null"}});
  check({"no override",
         grpo_job,
         {"steps"},
         errc::config_wrong_type,
         {"command line: steps: ", "key=value"}});
  check({"a list as the job",
         "- a\n",
         {},
         errc::config_wrong_type,
         {"jobs/job.yaml:1: the job is no block", "train"}});
}

TEST_CASE("a value out of range is refused with the range") {
  check({"below",
         grpo_job,
         {"train.steps=0"},
         errc::config_out_of_range,
         {"train.steps is \"0\"", "from 1 to 2147483647"}});
  check({"open end",
         grpo_job,
         {"rollout.sampling.top_p=0"},
         errc::config_out_of_range,
         {"above 0 to 1"}});
  check({"open upper end",
         grpo_job,
         {"train.optimizer.beta1=1"},
         errc::config_out_of_range,
         {"from 0 to below 1"}});
  check({"choice",
         grpo_job,
         {"train.algorithm=ppo"},
         errc::config_out_of_range,
         {"\"ppo\"", "one of grpo, sft"}});
  check({"too long for 64 bits",
         grpo_job,
         {"run.seed=18446744073709551616"},
         errc::config_out_of_range,
         {"18446744073709551615"}});
  check({"negative seed",
         grpo_job,
         {"run.seed=-1"},
         errc::config_out_of_range,
         {"from 0"}});
  check({"not finite",
         grpo_job,
         {"train.optimizer.max_grad_norm=inf"},
         errc::config_out_of_range,
         {"\"inf\"", "from 0 up"}});
  check({"nan",
         grpo_job,
         {"train.optimizer.max_grad_norm=nan"},
         errc::config_out_of_range,
         {"\"nan\""}});
  check({"empty text",
         grpo_job,
         {"data.train.file="},
         errc::config_out_of_range,
         {"a text, or a list of texts"}});
  check({"no text in a list",
         grpo_job,
         {"data.train.file=[]"},
         errc::config_out_of_range,
         {"data.train.file is a list", "a text, or a list of texts"}});
  check({"in a list",
         grpo_job,
         {"rollout.sampling.stop_token_ids=[1,-2]"},
         errc::config_out_of_range,
         {"\"-2\""}});
  check({"no function",
         grpo_job,
         {"reward.kind=python", "reward.python=f.py"},
         errc::config_out_of_range,
         {"\"f.py\"", "FILE.py:FUNCTION"}});
}

TEST_CASE("a missing key is refused with its file and what it is") {
  struct missing {
    const char* key;
    std::vector<std::string> overrides;
    const char* place;
  };

  for (const auto& [key, overrides, place] : std::vector<missing>{
         {"run.directory", {"run.directory=null"}, "jobs/job.yaml:1: "},
         {"model.path", {"model.path=null"}, "jobs/job.yaml:3: "},
         {"train.steps", {"train=null"}, "jobs/job.yaml: "},
         {"data.train.file", {"data.train.file=null"}, "jobs/job.yaml:6: "},
         {"data.eval.file", {"data.eval.prompt_field=q"}, "jobs/job.yaml:5: "},
         {"reward.python", {"reward.kind=python"}, "jobs/job.yaml: "}})
    check({key,
           grpo_job,
           overrides,
           errc::config_missing_key,
           {place, std::string{key}}});
  auto fresh = everything_on;
  fresh[1] = "model.fresh.max_positions=2000";
  check({"tokenizer",
         grpo_job,
         fresh,
         errc::config_missing_key,
         {"model.tokenizer is missing"}});
  fresh = everything_on;
  fresh[2] = "model.fresh.max_positions=2000";
  check({"hidden_size",
         grpo_job,
         fresh,
         errc::config_missing_key,
         {"model.fresh.hidden_size is missing", "a whole number from 2"}});
  check({"empty file", "{}", {}, errc::config_missing_key, {"jobs/job.yaml"}});
}

TEST_CASE("keys that exclude each other are refused with both places") {
  check({"path and fresh",
         grpo_job,
         {"model.fresh.hidden_size=64"},
         errc::config_conflict,
         {"jobs/job.yaml:4: model.path and model.fresh", "keep one"}});
  check({"a key twice",
         grpo_job + "  steps: 3\n",
         {},
         errc::config_conflict,
         {"jobs/job.yaml:10: train.steps", "jobs/job.yaml:9"}});
  check({"a block twice",
         grpo_job + "run:\n  seed: 3\n",
         {},
         errc::config_conflict,
         {"jobs/job.yaml:10: run ", "jobs/job.yaml:1"}});
  check({"an override twice",
         grpo_job,
         {"train.steps=3", "train.steps=4"},
         errc::config_conflict,
         {"command line: train.steps=4: ", "command line: train.steps=3"}});
  check({"budgets",
         grpo_job,
         {"rollout.sampling.min_new_tokens=65"},
         errc::config_conflict,
         {"min_new_tokens is 65", "max_new_tokens is 64"}});
  check({"learning rates",
         grpo_job,
         {"train.optimizer.schedule=cosine",
          "train.optimizer.min_learning_rate=0.1"},
         errc::config_conflict,
         {"is 0.1, but", "is 1e-05"}});
  check({"a decay without its length",
         grpo_job,
         {"train.optimizer.schedule=wsd"},
         errc::config_missing_key,
         {"train.optimizer.decay_steps is missing"}});
  check({"a decay longer than the run",
         grpo_job,
         {"train.steps=5", "train.optimizer.schedule=wsd",
          "train.optimizer.decay_steps=6"},
         errc::config_conflict,
         {"decay_steps is 6, but train.steps is 5"}});
  check({"a pass@k without k samples",
         grpo_job,
         {"data.eval.file=eval.jsonl", "eval.sampling.temperature=1",
          "eval.samples_per_prompt=4", "eval.pass_at=[1, 5]"},
         errc::config_conflict,
         {"eval.pass_at is 5, but eval.samples_per_prompt is 4"}});
  check({"several greedy samples",
         grpo_job,
         {"data.eval.file=eval.jsonl", "eval.samples_per_prompt=4"},
         errc::config_conflict,
         {"eval.samples_per_prompt is 4", "temperature is 0"}});
  check({"minibatches",
         grpo_job,
         {"train.minibatches=9"},
         errc::config_conflict,
         {"train.minibatches is 9", "train.prompts_per_step is 8"}});
  check({"samples of a step",
         grpo_job,
         {"train.prompts_per_step=513"},
         errc::config_conflict,
         {"is 4104; allowed: at most 4096"}});
  check({"an overlong margin",
         grpo_job,
         {"train.overlong_margin_tokens=65"},
         errc::config_conflict,
         {"train.overlong_margin_tokens is 65", "max_new_tokens is 64"}});
  auto fresh = everything_on;
  fresh.emplace_back("model.fresh.max_positions=575");
  check({"positions",
         grpo_job,
         fresh,
         errc::config_conflict,
         {"576", "rollout.sampling.max_new_tokens", "575"}});
  fresh.back() = "model.fresh.num_kv_heads=3";
  check({"kv heads",
         grpo_job,
         fresh,
         errc::config_conflict,
         {"num_kv_heads is 3", "num_heads is 4", "divisor"}});
  fresh.back() = "model.fresh.max_positions=576";
  CHECK_NOTHROW(read(grpo_job, fresh));
}

TEST_CASE("losses that make no sense together are refused by name") {
  check(
    {"GSPO by tokens",
     grpo_job,
     {"train.ratio_level=sequence"},
     errc::config_conflict,
     {"command line: train.ratio_level=sequence: ",
      "train.loss_aggregation is \"token_mean\"", "allowed: sequence_mean"}});
  check({"GSPO with cispo",
         grpo_job,
         {"train.ratio_level=sequence", "train.policy_loss=cispo",
          "train.loss_aggregation=sequence_mean"},
         errc::config_conflict,
         {"train.policy_loss is \"cispo\"", "allowed: clipped"}});
  check(
    {"GSPO with weights of tokens",
     grpo_job,
     {"train.ratio_level=sequence", "train.importance_correction=token_mask",
      "train.loss_aggregation=sequence_mean"},
     errc::config_conflict,
     {"train.importance_correction is \"token_mask\"",
      "sequence_truncate or sequence_mask"}});
  check({"a dual clip below 1",
         grpo_job,
         {"train.dual_clip=1"},
         errc::config_out_of_range,
         {"train.dual_clip is 1; allowed: a number above 1, or 0"}});
  check({"a dual clip under cispo",
         grpo_job,
         {"train.policy_loss=cispo", "train.dual_clip=2"},
         errc::config_unused_key,
         {"train.dual_clip", "train.policy_loss: clipped"}});
  check({"bounds of no weights",
         grpo_job,
         {"train.importance_max=3"},
         errc::config_unused_key,
         {"train.importance_max", "importance_correction other than none"}});
  check({"an estimator of no KL",
         grpo_job,
         {"train.kl_estimator=k1"},
         errc::config_unused_key,
         {"train.kl_estimator", "train.kl_coefficient above 0"}});
  check({"sft by a fixed length",
         grpo_job,
         {"train.algorithm=sft", "train.loss_aggregation=sequence_sum"},
         errc::config_conflict,
         {"train.loss_aggregation is \"sequence_sum\"",
          "train.algorithm is \"sft\"", "token_mean or sequence_mean"}});
  CHECK_NOTHROW(
    read(grpo_job, {"train.ratio_level=sequence", "train.dual_clip=3",
                    "train.loss_aggregation=sequence_mean",
                    "train.importance_correction=sequence_mask"}));
  CHECK(read(grpo_job, {"train.loss_aggregation=fixed_length",
                        "rollout.sampling.max_new_tokens=77"})
          .train.loss_length_tokens
        == 77);
}

TEST_CASE("what later versions bring is refused by name") {
  check({"ranks",
         grpo_job + "placement:\n  ranks: 2\n",
         {},
         errc::unsupported,
         {"jobs/job.yaml:11: placement.ranks is 2",
          "several ranks come with a later version", "allowed: 1"}});
  check({"cuda",
         grpo_job,
         {"placement.device=cuda"},
         errc::unsupported,
         {"command line: placement.device=cuda: ", "allowed: cpu"}});
}

TEST_CASE("what is no job file is refused with its path") {
  check({"no YAML",
         grpo_job + "  a: [\n",
         {},
         errc::config_unreadable,
         {"jobs/job.yaml:1", "no YAML"}});
  check({"two documents",
         grpo_job + "---\na: 3\n",
         {},
         errc::config_unreadable,
         {"second YAML document"}});
  expect_failure(errc::config_unreadable, {"/no/such/job.yaml", "No such file"},
                 [] { read_job("/no/such/job.yaml"); });
  expect_failure(errc::config_unreadable, {"/tmp", "folder"},
                 [] { read_job("/tmp"); });
}

TEST_CASE("a file on disk reads like its text") {
  const auto file = fs::temp_directory_path() / "troupe_read_job_test.yaml";
  std::ofstream{file} << grpo_job;

  CHECK(read_job(file).model.path
        == (fs::temp_directory_path() / "llama").string());

  fs::remove(file);
}

TEST_CASE("what YAML would let pass is refused with its place") {
  const auto with = [](const std::string& seed) { return grpo_job + seed; };
  const std::vector<bad_job> jobs{
    {"tag",
     with("eval: {every_steps: !!python/object:os.system 3}\n"),
     {},
     errc::config_wrong_type,
     {"job.yaml:", "eval.every_steps has the YAML tag", "os.system",
      "tags are not allowed"}},
    {"tag in a list",
     with("eval: {sampling: {stop_token_ids: [1, !x 2]}}\n"),
     {},
     errc::config_wrong_type,
     {"stop_token_ids has the YAML tag \"!x\""}},
    {"no UTF-8",
     "# fine\n# \xff\n" + std::string{grpo_job},
     {},
     errc::config_unreadable,
     {"job.yaml:2: no UTF-8"}},
    {"override that is no UTF-8",
     grpo_job,
     {"run.directory=\xff"},
     errc::config_unreadable,
     {"command line: run.directory=", "no UTF-8"}},
    {"key below a value",
     grpo_job,
     {"train.steps.x=1"},
     errc::config_unknown_key,
     {"train.steps has no keys below it"}},
    {"empty word",
     grpo_job,
     {"run..seed=1"},
     errc::config_unknown_key,
     {"unknown key \"\" in run"}}};
  for (const auto& job : jobs)
    check(job);
}

TEST_CASE("a device is read up to a limit, not for ever") {
  expect_failure(errc::config_unreadable,
                 {"/dev/zero: has more than 16 MiB, too much for a job file"},
                 [] { read_job("/dev/zero", {}); });
  expect_failure(errc::config_unreadable, {"cannot be read", "name a job file"},
                 [] { read_job(std::string(5000, 'a'), {}); });
  expect_failure(errc::config_unreadable, {"/proc/self/mem: cannot be read"},
                 [] { read_job("/proc/self/mem", {}); });
}

TEST_SUITE_END();
