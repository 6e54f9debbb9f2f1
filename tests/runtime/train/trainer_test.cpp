// SPDX-License-Identifier: Apache-2.0
//
// Losses and gradients of whole steps, against sequences one by one, whole
// logits in double, and autograd.
#include "runtime/train/trainer.hpp"

#include "runtime/rollout/decoder_model.hpp"
#include "runtime/rollout/rollout_engine.hpp"
#include "tests/runtime/train/train_fixture.hpp"

#include <atomic>

#include "tests/support/doctest.hpp"

TEST_SUITE_BEGIN("runtime.train.trainer");

using namespace troupe::runtime;
using namespace troupe::runtime::train;

namespace {

using ids = std::vector<std::int32_t>;

/// Logprobs of the completion in double, of the whole logits; differentiable.
torch::Tensor dense_logprobs(trainee& t, const ids& prompt,
                             const ids& completion, double temperature) {
  auto all = prompt;
  all.insert(all.end(), completion.begin(), completion.end());
  std::vector<std::int32_t> positions(all.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    positions[i] = static_cast<std::int32_t>(i);
  const std::int32_t offsets[] = {0, static_cast<std::int32_t>(all.size())};
  const auto logits =
    t.decoder->forward(torch::tensor(all, torch::kInt32),
                       {t.pool, positions, model::packed_sequences{offsets}});
  const auto first = static_cast<std::int64_t>(prompt.size()) - 1;
  const auto count = static_cast<std::int64_t>(completion.size());
  return (logits.slice(0, first, first + count).to(torch::kFloat64)
          / temperature)
    .log_softmax(-1)
    .gather(1, torch::tensor(completion, torch::kInt64).unsqueeze(1))
    .squeeze(1);
}

named_tensors take_gradients(const trainee& t) {
  named_tensors out;
  for (const auto& p : t.optimizer.parameters())
    out[p->name()] = p->tensor().grad().clone();
  return out;
}

struct expectation {
  double loss = 0, kl = 0;
  named_tensors gradients;
};

/// The clipped objective with a k3 penalty, as DAPO eq. 10 (token_mean) and
/// DeepSeekMath eq. 3 (sequence_mean) write it.
expectation dense_policy_step(trainee& t, trainee* reference,
                              const trainer_settings& settings) {
  const auto groups = made_up_groups();
  const auto& train = settings.train;
  double num_tokens = 0, num_samples = 0;
  for (const auto& g : groups)
    for (const auto& s : g->samples) {
      num_tokens += static_cast<double>(s.completion_ids.size());
      ++num_samples;
    }
  auto loss = torch::zeros({}, torch::kFloat64), kl_sum = loss.clone();
  std::size_t index = 0;
  for (const auto& g : groups)
    for (const auto& s : g->samples) {
      const double advantage = double{made_up_advantages[index++]};
      const auto temperature = double{settings.temperature};
      const auto logprobs =
        dense_logprobs(t, g->prompt_ids, s.completion_ids, temperature);
      const auto rollout =
        torch::tensor(s.rollout_logprobs).to(torch::kFloat64);
      const auto ratio = (logprobs - rollout).exp();
      auto token_loss = -torch::min(
        ratio * advantage,
        ratio.clamp(1 - train.clip_low, 1 + train.clip_high) * advantage);
      const double weight = train.loss_aggregation == "token_mean"
                              ? 1 / num_tokens
                              : 1 / num_samples / double(logprobs.numel());
      if (reference != nullptr) {
        const auto gap = dense_logprobs(*reference, g->prompt_ids,
                                        s.completion_ids, temperature)
                           .detach()
                         - logprobs;
        const auto kl = gap.exp() - gap - 1;
        kl_sum = kl_sum + kl.detach().sum() * weight;
        token_loss = token_loss + train.kl_coefficient * kl;
      }
      loss = loss + token_loss.sum() * weight;
    }
  loss.backward();
  return {loss.item<double>(), kl_sum.item<double>(), take_gradients(t)};
}

step_result
policy_step(trainee& t, trainee* reference, const trainer_settings& settings,
            const group_list& groups = made_up_groups(),
            const std::vector<float>& advantages = made_up_advantages,
            bool measures_gap = false) {
  trainer made(*t.decoder,
               reference != nullptr ? reference->decoder.get() : nullptr,
               t.optimizer, settings, t.pool);
  return made.policy_step(groups, advantages, measures_gap, 0);
}

/// Groups whose logprobs the rollout engine computed with these weights.
group_list sampled_groups(trainee& t, float temperature) {
  rollout::decoder_model model(t.decoder, t.pool);
  const auto layout = model.cache_layout(3, 40);
  std::vector<float> memory(layout.num_bytes() / sizeof(float));
  rollout::rollout_engine engine({5}, model, t.pool);
  engine.attach_cache({memory.data(), layout});
  engine.on_weights_changed(0);
  for (std::uint32_t position = 0; position < 4; ++position) {
    rollout::rollout_request r;
    r.id = {0, position, 0};
    for (std::uint32_t i = 0; i < 3 + position; ++i)
      r.prompt_ids.push_back(static_cast<std::int32_t>(3 + 9 * i + position));
    r.num_samples = 3;
    r.sampling.temperature = temperature;
    r.sampling.max_new_tokens = 9;
    engine.submit(r);
  }
  const std::atomic<std::uint32_t> go_on = 0;
  engine.decode_quantum(10000, go_on);
  group_list out;
  for (auto& g : engine.take_finished())
    out.push_back(std::make_shared<experience::rollout_group>(std::move(g)));
  return out;
}

} // namespace

TEST_CASE("a supervised step has loss and gradients of the mean logprob") {
  bool tied = true;
  SUBCASE("tied embeddings") {}
  SUBCASE("a head of its own") {
    tied = false;
  }
  trainee t(7, tied), reference(7, tied);
  const std::vector<ids> prompts{{5, 8, 11}, {2}, {40, 41}};
  const std::vector<ids> completions{{7, 3}, {60, 1, 1, 9}, {30}};
  auto loss = torch::zeros({}, torch::kFloat64);
  std::vector<sequence> sequences;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    loss =
      loss - dense_logprobs(reference, prompts[i], completions[i], 1).sum() / 7;
    sequences.push_back({prompts[i], completions[i]});
  }
  loss.backward();

  trainer made(*t.decoder, nullptr, t.optimizer, {plain_settings(), 0.5F},
               t.pool);
  const auto result =
    made.supervised_step(sequences, plain_settings().optimizer, 0);

  CHECK(result.skipped.empty());
  CHECK(result.metrics.at("train/tokens") == 7);
  CHECK(result.metrics.at("train/loss")
        == doctest::Approx(loss.item<double>()).epsilon(1e-6));
  CHECK(largest_difference(t.gradients(), take_gradients(reference)) < 1e-5);
}

TEST_CASE("a policy step has loss and gradients of the clipped objective") {
  trainer_settings settings{plain_settings(), 1.0F};
  bool has_reference = false;
  SUBCASE("token_mean") {}
  SUBCASE("sequence_mean") {
    settings.train.loss_aggregation = "sequence_mean";
  }
  SUBCASE("another clip above than below") {
    settings.train.clip_low = 0.3;
    settings.train.clip_high = 0.05;
  }
  SUBCASE("temperature") {
    settings.temperature = 0.8F;
  }
  SUBCASE("a KL penalty, token_mean") {
    has_reference = true;
  }
  SUBCASE("a KL penalty, sequence_mean") {
    settings.train.loss_aggregation = "sequence_mean";
    has_reference = true;
  }
  settings.train.kl_coefficient = has_reference ? 0.3 : 0;
  trainee t, dense, other(8), *reference = has_reference ? &other : nullptr;
  const auto expected = dense_policy_step(dense, reference, settings);

  const auto result = policy_step(t, reference, settings);

  CHECK(result.skipped.empty());
  CHECK(result.metrics.at("train/loss")
        == doctest::Approx(expected.loss).epsilon(1e-6));
  CHECK(result.metrics.count("train/kl") == (has_reference ? 1 : 0));
  if (has_reference)
    CHECK(result.metrics.at("train/kl")
          == doctest::Approx(expected.kl).epsilon(1e-6));
  // Both clips bind for some token, neither for all.
  CHECK(result.metrics.at("train/clip_fraction_low") > 0);
  CHECK(result.metrics.at("train/clip_fraction_high") > 0);
  CHECK(largest_difference(t.gradients(), expected.gradients) < 1e-5);
  CHECK(result.metrics.at("train/grad_norm") > 0);
}

TEST_CASE("supervised sequences weigh the same under sequence_mean") {
  auto train = plain_settings();
  train.loss_aggregation = "sequence_mean";
  const std::vector<ids> prompts{{5, 8, 11}, {2}};
  const std::vector<ids> completions{{7, 3}, {60, 1, 1, 9}};
  trainee warmup, t, reference;
  auto loss = torch::zeros({}, torch::kFloat64);
  std::vector<sequence> sequences;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    loss =
      loss
      - dense_logprobs(reference, prompts[i], completions[i], 1).mean() / 2;
    sequences.push_back({prompts[i], completions[i]});
  }
  loss.backward();
  const auto run = [&](trainee& of) {
    trainer made(*of.decoder, nullptr, of.optimizer, {train, 1.0F}, of.pool);
    return made.supervised_step(sequences, train.optimizer, 0)
      .metrics.at("train/loss");
  };

  const auto of_warmup = run(warmup);
  train.algorithm = "sft";
  const auto of_sft = run(t);

  CHECK(of_sft == doctest::Approx(loss.item<double>()).epsilon(1e-6));
  CHECK(largest_difference(t.gradients(), take_gradients(reference)) < 1e-5);
  CHECK(of_warmup != doctest::Approx(of_sft).epsilon(0.001));
}

TEST_CASE("score_groups gives the divergence of each sample") {
  trainee t, other(8);
  auto train = plain_settings();
  train.kl_coefficient = 0.1;
  train.kl_in = "reward";
  train.kl_estimator = "k1";
  train.microbatch_tokens = 9;
  const auto groups = made_up_groups();
  trainer made(*t.decoder, other.decoder.get(), t.optimizer, {train, 1.0F},
               t.pool);

  const auto divergences = made.score_groups(groups);

  std::size_t next = 0;
  for (const auto& g : groups)
    for (const auto& s : g->samples) {
      const auto expected =
        torch::tensor(s.rollout_logprobs).to(torch::kFloat64).sum()
        - dense_logprobs(other, g->prompt_ids, s.completion_ids, 1).sum();
      CHECK(double{divergences.at(next++)}
            == doctest::Approx(expected.item<double>()).epsilon(1e-6));
    }
  CHECK(divergences.size() == next);
  CHECK(made.policy_step(groups, made_up_advantages, false, 0)
          .metrics.count("train/kl")
        == 0);
}

TEST_CASE("the two aggregations differ when lengths do") {
  trainee a, b;
  auto by_sequence = plain_settings();
  by_sequence.loss_aggregation = "sequence_mean";

  const auto of_tokens = policy_step(a, nullptr, {plain_settings(), 1.0F});
  const auto of_sequences = policy_step(b, nullptr, {by_sequence, 1.0F});

  CHECK(
    of_tokens.metrics.at("train/loss")
    != doctest::Approx(of_sequences.metrics.at("train/loss")).epsilon(0.01));
}

TEST_CASE("the size of microbatches and chunks changes the last bits only") {
  trainee whole, reference(8);
  auto train = plain_settings();
  train.kl_coefficient = 0.1;
  const auto expected = policy_step(whole, &reference, {train, 1.0F});
  for (const std::int64_t rows : {1, 9, 25}) {
    for (const std::int64_t chunk : {1, 7}) {
      CAPTURE(rows);
      CAPTURE(chunk);
      trainee t;
      train.microbatch_tokens = rows;
      train.logit_chunk_tokens = chunk;
      const auto result = policy_step(t, &reference, {train, 1.0F});
      for (const auto* key : {"train/loss", "train/kl", "train/entropy"})
        CHECK(result.metrics.at(key)
              == doctest::Approx(expected.metrics.at(key)).epsilon(1e-6));
      CHECK(largest_difference(t.gradients(), whole.gradients()) < 1e-5);
    }
  }
}

TEST_CASE("one thread gives the bits of two") {
  trainee a, b;
  troupe::kernels::thread_pool one{1};
  const trainer_settings settings{plain_settings(), 1.0F};
  trainer alone(*a.decoder, nullptr, a.optimizer, settings, one);
  alone.policy_step(made_up_groups(), made_up_advantages, false, 0.01);
  trainer both(*b.decoder, nullptr, b.optimizer, settings, b.pool);

  both.policy_step(made_up_groups(), made_up_advantages, false, 0.01);

  CHECK(same_bits(a.weights(), b.weights()));
}

TEST_CASE("the logprob gap is exactly 0 at the rollout's weights") {
  trainee t;
  const auto groups = sampled_groups(t, 0.8F);
  REQUIRE(groups.size() == 4);
  const std::vector<float> advantages(12, 1.0F);
  const trainer_settings settings{plain_settings(), 0.8F};

  const auto same = policy_step(t, nullptr, settings, groups, advantages, true);
  trainee other(8);
  const auto different =
    policy_step(other, nullptr, settings, groups, advantages, true);

  CHECK(same.metrics.at("rollout/logprob_gap_max") == 0);
  CHECK(same.metrics.at("rollout/logprob_gap_mean") == 0);
  CHECK(same.metrics.at("train/loss") == doctest::Approx(-1).epsilon(1e-6));
  CHECK(different.metrics.at("rollout/logprob_gap_mean") > 0.01);
  CHECK(policy_step(other, nullptr, settings, groups, advantages, false)
          .metrics.count("rollout/logprob_gap_max")
        == 0);
}

TEST_CASE("advantages of 0 give gradients of exactly 0") {
  trainee t;
  const auto result =
    policy_step(t, nullptr, {plain_settings(), 1.0F}, made_up_groups(),
                std::vector<float>(6, 0.0F));

  CHECK(result.skipped.empty());
  CHECK(result.metrics.at("train/loss") == 0);
  CHECK(result.metrics.at("train/grad_norm") == 0);
  CHECK(t.optimizer.num_updates() == 1);
}

TEST_CASE("gradients above max_grad_norm are scaled to it and others are not") {
  trainee plain, clipped, large;
  auto train = plain_settings();
  const auto result = policy_step(plain, nullptr, {train, 1.0F});
  const double norm = result.metrics.at("train/grad_norm");
  train.optimizer.max_grad_norm = norm / 10;
  policy_step(clipped, nullptr, {train, 1.0F});
  train.optimizer.max_grad_norm = norm * 10;
  policy_step(large, nullptr, {train, 1.0F});

  auto expected = plain.gradients();
  CHECK(same_bits(large.gradients(), expected));
  for (auto& [name, gradient] : expected)
    gradient = gradient / 10;
  CHECK(largest_difference(clipped.gradients(), expected) < 1e-5);
}

TEST_SUITE_END();
