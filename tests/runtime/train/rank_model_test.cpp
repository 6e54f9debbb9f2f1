// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/rank_model.hpp"

#include "tests/runtime/train/train_fixture.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/temporary_folder.hpp"

#include "tests/support/doctest.hpp"

TEST_SUITE_BEGIN("runtime.train.rank_model");

using namespace troupe::runtime;
using namespace troupe::runtime::train;
using troupe::tests::failure_of;
using troupe::tests::read_file;

namespace {

config::job_config tiny_job(std::int64_t hidden_size = 32) {
  config::job_config job;
  job.run.seed = 3;
  job.model.tokenizer = TROUPE_SOURCE_DIR "/samples/addition";
  job.model.fresh = config::fresh_model_block{.hidden_size = hidden_size,
                                              .intermediate_size = 48,
                                              .num_layers = 2,
                                              .num_heads = 4,
                                              .num_kv_heads = 2,
                                              .max_positions = 64};
  job.train = plain_settings();
  job.train.optimizer.beta1 = 0.9;
  return job;
}

/// One supervised step; returns its loss.
double step(rank_model& m) {
  const std::vector<std::int32_t> prompt{4, 5, 6}, completion{7, 8};
  const std::vector<sequence> one{{prompt, completion}};
  const auto result =
    m.training().supervised_step(one, tiny_job().train.optimizer, 0.01);
  ++m.version;
  return result.metrics.at("train/loss");
}

named_tensors weights_of(const rank_model& m) {
  named_tensors out;
  for (const auto& [name, p] : m.policy()->named_parameters())
    out[name] = p->tensor().detach().clone();
  return out;
}

} // namespace

TEST_CASE("a model restored from its files goes on with the same bits") {
  const troupe::tests::temporary_folder folder;
  troupe::kernels::thread_pool pool{2};
  rank_model first(tiny_job(), model_use::train, {}, pool);
  first.enter_stage(1);
  step(first);
  step(first);
  const auto files = first.write(folder.path());
  CHECK(files
        == std::vector<std::string>{"model.safetensors",
                                    "optimizer.safetensors", "rank-0.json"});

  rank_model second(tiny_job(), model_use::train, folder.path(), pool);

  CHECK(second.version == 2);
  CHECK(second.stage == 1);
  CHECK(second.optimizer().num_updates() == 2);
  CHECK(same_bits(weights_of(first), weights_of(second)));
  second.enter_stage(1); // the one it is in: nothing happens
  CHECK(step(first) == step(second));
  CHECK(same_bits(weights_of(first), weights_of(second)));
  // Moments, too: the files of both are the same bytes.
  const troupe::tests::temporary_folder left, right;
  first.write(left.path());
  second.write(right.path());
  for (const auto& file : files)
    CHECK(read_file(left / file) == read_file(right / file));
}

TEST_CASE("a seed makes one model and another seed another one") {
  troupe::kernels::thread_pool pool{1};
  auto job = tiny_job();
  const rank_model a(job, model_use::generate_only, {}, pool);
  const rank_model b(job, model_use::generate_only, {}, pool);
  job.run.seed = 4;
  const rank_model c(job, model_use::generate_only, {}, pool);

  CHECK(same_bits(weights_of(a), weights_of(b)));
  CHECK_FALSE(same_bits(weights_of(a), weights_of(c)));
  std::uint64_t count = 0;
  for (const auto& [name, tensor] : weights_of(a))
    count += static_cast<std::uint64_t>(tensor.numel());
  CHECK(a.num_parameters() == count);
}

TEST_CASE(
  "another stage begins without moments while the same one keeps them") {
  troupe::kernels::thread_pool pool{1};
  rank_model m(tiny_job(), model_use::train, {}, pool);
  m.enter_stage(1);
  step(m);

  m.enter_stage(1);
  CHECK(m.optimizer().num_updates() == 1);
  m.enter_stage(2);

  CHECK(m.stage == 2);
  CHECK(m.optimizer().num_updates() == 0);
  CHECK(m.optimizer().state().empty());
}

TEST_CASE("a model that only generates restores weights without moments") {
  const troupe::tests::temporary_folder folder;
  troupe::kernels::thread_pool pool{1};
  rank_model trained(tiny_job(), model_use::train, {}, pool);
  step(trained);
  trained.write(folder.path());

  const rank_model m(tiny_job(), model_use::generate_only, folder.path(), pool);

  CHECK(m.version == 1);
  CHECK(same_bits(weights_of(m), weights_of(trained)));
}

TEST_CASE("frozen parameters keep their bits and have no moments") {
  troupe::kernels::thread_pool pool{1};
  auto job = tiny_job();
  job.train.frozen = {"model.embed_tokens.*", "*layers.0.*"};
  rank_model m(job, model_use::train, {}, pool);
  const auto before = weights_of(m);

  step(m);

  for (const auto& [name, tensor] : weights_of(m)) {
    CAPTURE(name);
    const bool is_frozen = name.starts_with("model.embed_tokens")
                           || name.find("layers.0.") != std::string::npos;
    CHECK(tensor.equal(before.at(name)) == is_frozen);
    CHECK(std::ranges::any_of(
            m.optimizer().state(),
            [&](const auto& moment) { return moment.name == name + ".first"; })
          != is_frozen);
  }
  CHECK(m.num_trained_parameters() < m.num_parameters());
}

TEST_CASE("everything below the head may be frozen") {
  troupe::kernels::thread_pool pool{1};
  auto job = tiny_job();
  job.model.fresh->tie_embeddings = false;
  job.train.frozen = {"model.*"};
  rank_model m(job, model_use::train, {}, pool);
  const auto before = weights_of(m);

  step(m);

  const auto after = weights_of(m);
  CHECK_FALSE(after.at("lm_head.weight").equal(before.at("lm_head.weight")));
  CHECK(after.at("model.norm.weight").equal(before.at("model.norm.weight")));
}

TEST_CASE("a frozen pattern that fits nothing is refused, and one that fits "
          "all") {
  troupe::kernels::thread_pool pool{1};
  auto job = tiny_job();
  job.train.frozen = {"*norm.weight", "encoder.*"};
  CHECK(failure_of([&] { rank_model(job, model_use::train, {}, pool); })
          .starts_with("model_mismatch: train.frozen has \"encoder.*\", which "
                       "fits none of the model's"));
  job.train.frozen = {"*"};
  CHECK(failure_of([&] {
          rank_model(job, model_use::train, {}, pool);
        }).starts_with("model_mismatch: train.frozen fits all"));
}

TEST_CASE("a checkpoint of another model is refused with both shapes") {
  const troupe::tests::temporary_folder folder;
  troupe::kernels::thread_pool pool{1};
  rank_model(tiny_job(), model_use::train, {}, pool).write(folder.path());

  const auto text = failure_of(
    [&] { rank_model(tiny_job(64), model_use::train, folder.path(), pool); });

  CHECK(text.starts_with("checkpoint_mismatch: " + folder.path().string()
                         + ": tensor 'model."));
  CHECK(troupe::tests::contains(text, "32]"));
  CHECK(troupe::tests::contains(text, "64]"));
}

TEST_CASE("a state that is no JSON is refused by its path") {
  const troupe::tests::temporary_folder folder;
  troupe::kernels::thread_pool pool{1};
  rank_model(tiny_job(), model_use::train, {}, pool).write(folder.path());
  SUBCASE("torn") {
    folder.write("rank-0.json", "{\"policy_ver");
  }
  SUBCASE("without its keys") {
    folder.write("rank-0.json", "{}");
  }

  CHECK(
    failure_of([&] {
      rank_model(tiny_job(), model_use::train, folder.path(), pool);
    }).starts_with("checkpoint_corrupt: " + (folder / "rank-0.json").string()));
}

TEST_SUITE_END();
