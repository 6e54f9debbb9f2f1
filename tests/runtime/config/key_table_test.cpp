// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/key_table.hpp"

#include "runtime/config/nearest_key.hpp"
#include "tests/runtime/config/sample_jobs.hpp"
#include "tests/support/expect_failure.hpp"

#include <array>
#include <set>

#include "tests/support/doctest.hpp"

using namespace troupe::runtime::config;
using troupe::protocols::errc;
using troupe::tests::everything_on;
using troupe::tests::expect_failure;
using troupe::tests::grpo_job;
using troupe::tests::read;

TEST_SUITE_BEGIN("runtime.config.key_table");

namespace {

/// What keys need beside `everything_on`.
constexpr std::array<std::pair<const char*, const char*>, 12> needs_of{{
  {"train.overlong_penalty", "train.overlong_margin_tokens=7"},
  {"train.importance_min", "train.importance_correction=token_mask"},
  {"train.importance_max", "train.importance_correction=token_mask"},
  {"train.loss_length_tokens", "train.loss_aggregation=fixed_length"},
  {"train.ratio_level", "train.loss_aggregation=sequence_mean"},
  {"train.optimizer.decay_steps", "train.optimizer.schedule=wsd"},
  {"train.optimizer.decay_steps", "train.optimizer.decay_steps=1"},
  {"train.optimizer.no_weight_decay", "train.optimizer.weight_decay=0.1"},
  {"sft_warmup.optimizer.decay_steps", "sft_warmup.optimizer.schedule=wsd"},
  {"sft_warmup.optimizer.decay_steps", "sft_warmup.optimizer.decay_steps=1"},
  {"sft_warmup.optimizer.no_weight_decay",
   "sft_warmup.optimizer.weight_decay=0.1"},
  {"eval.pass_at", "eval.samples_per_prompt=8"},
}};

/// "key=value", in place of what was said of the key.
void set(std::vector<std::string>& overrides, const std::string& text) {
  const auto prefix = text.substr(0, text.find('=') + 1);
  std::erase_if(overrides, [&](const std::string& other) {
    return other.starts_with(prefix);
  });
  overrides.push_back(text);
}

/// The overrides of a job in which the key has an effect.
std::vector<std::string> job_for(const key_row& row) {
  if (row.path == "train.batch_size")
    return {"train.algorithm=sft"};
  if (row.path == "model.path")
    return {};
  auto out = everything_on;
  for (const auto& [key, needs] : needs_of)
    if (row.path == key)
      set(out, needs);
  return out;
}

/// A value that differs from the default and from `everything_on`.
std::string other_value(const key_row& row) {
  const auto& facts = row.facts;
  if (row.path == "model.fresh.num_kv_heads")
    return "2";
  if (row.path == "model.fresh.num_heads")
    return "8";
  if (row.path == "reward.python")
    return "other.py:grade";
  if (row.path == "placement.ranks" || row.path == "placement.device")
    return {}; // only one value is allowed
  if (row.path == "train.algorithm")
    return {}; // changes which keys count: tested on its own
  if (row.path == "reward.kind")
    return {}; // as above
  if (row.path == "train.dual_clip")
    return "3.5";
  if (row.path == "train.loss_aggregation")
    return "sequence_mean";
  if (row.path.ends_with(".min_learning_rate"))
    return "1e-6";
  auto job = read(grpo_job, job_for(row));
  const auto now = value_text(row, job);
  for (const auto choice : facts.choices)
    if (now != '"' + std::string{choice} + '"' && choice != "constant"
        && choice != facts.choices.front())
      return std::string{choice};
  if (!facts.choices.empty())
    return std::string{facts.choices.front()};
  const auto member = row.member(job);
  if (auto* const* flag = std::get_if<bool*>(&member))
    return **flag ? "false" : "true";
  if (std::holds_alternative<std::string*>(member))
    return "other";
  if (std::holds_alternative<std::vector<std::int64_t>*>(member))
    return "[5]";
  if (std::holds_alternative<std::vector<std::string>*>(member))
    return "[other.so]";
  if (auto* const* number = std::get_if<double*>(&member))
    return **number == 0.25 ? "0.5" : facts.min >= 1 ? "500" : "0.25";
  return now == "3"                                ? "4"
         : row.path.ends_with("hidden_size")       ? "128"
         : row.path.ends_with("max_positions")     ? "600"
         : row.path.ends_with("max_prompt_tokens") ? "600"
                                                   : "3";
}

std::vector<std::string> typos_of(const std::string& name) {
  auto swapped = name;
  std::swap(swapped[0], swapped[1]);
  const auto half = name.size() / 2;
  return {swapped, name.substr(1),
          name.substr(0, half) + 'x' + name.substr(half)};
}

} // namespace

TEST_CASE("P57 a typo of each key suggests that key") {
  for (const auto& row : key_table()) {
    const auto dot = row.path.rfind('.');
    const auto block = row.path.substr(0, dot + 1);
    const auto name = row.path.substr(dot + 1);
    for (const auto& typo : typos_of(name)) {
      if (find_key(block + typo) != nullptr || typo == name)
        continue;
      CAPTURE(row.path);
      expect_failure(errc::config_unknown_key,
                     {"command line: " + block + typo + "=1: ",
                      "did you mean \"" + name + "\"?"},
                     [&] { read(grpo_job, {block + typo + "=1"}); });
    }
  }
}

TEST_CASE("P57 each key, set to a non-default, changes the resolved job") {
  for (const auto& row : key_table()) {
    const auto value = other_value(row);
    if (value.empty())
      continue;
    CAPTURE(row.path);
    CAPTURE(value);
    auto overrides = job_for(row);
    const auto before = write_resolved(read(grpo_job, overrides));
    set(overrides, row.path + '=' + value);
    const auto job = read(grpo_job, overrides);
    const auto after = write_resolved(job);

    CHECK(after != before);
    CHECK(after.find(row.path.substr(row.path.rfind('.') + 1) + ": "
                     + value_text(row, job))
          != std::string::npos);
    CHECK(after == write_resolved(read(after)));
  }
}

TEST_CASE("a key without effect never reaches the resolved job") {
  const auto resolved = write_resolved(read(grpo_job, {"train.algorithm=sft"}));

  for (const auto* key : {"rollout", "reward", "eval", "sft_warmup",
                          "kl_coefficient", "samples_to_log"})
    CHECK(resolved.find(key) == std::string::npos);
}

TEST_CASE("keys are unique, documented, and come after what they inherit") {
  std::set<std::string, std::less<>> seen;
  for (const auto& row : key_table()) {
    CAPTURE(row.path);
    CHECK((row.facts.inherits.empty() || seen.contains(row.facts.inherits)));
    CHECK(seen.insert(row.path).second);
    CHECK(row.doc.ends_with('.'));
    CHECK_FALSE(allowed_values(row).empty());
  }
}

TEST_CASE("each limit is allowed up to its end and refused past it") {
  for (const auto& row : key_table()) {
    auto job = job_of_defaults();
    if (!std::holds_alternative<std::int64_t*>(row.member(job)))
      continue;
    CAPTURE(row.path);
    for (const auto past : {row.facts.min - 1, row.facts.max + 1}) {
      const auto text = std::to_string(static_cast<std::int64_t>(past));
      auto overrides = job_for(row);
      set(overrides, row.path + '=' + text);
      expect_failure(errc::config_out_of_range, {row.path, text, "allowed: "},
                     [&] { read(grpo_job, overrides); });
    }
  }
}

TEST_CASE("the edit distance counts a swap of neighbours as one") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("steps", "stesp") == 1);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("ca", "abc") == 3);
  CHECK(nearest("top_q", {"seed", "top_p", "top_k"}) == "top_p");
}

TEST_SUITE_END();
