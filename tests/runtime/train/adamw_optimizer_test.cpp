// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/adamw_optimizer.hpp"

#include "tests/runtime/train/train_fixture.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/temporary_folder.hpp"

#include "tests/support/doctest.hpp"

TEST_SUITE_BEGIN("runtime.train.adamw_optimizer");

using namespace troupe::runtime;
using namespace troupe::runtime::train;
using troupe::tests::contains;
using troupe::tests::failure_of;

namespace {

/// Sets each gradient to values that depend on `round`.
void fill_gradients(const trainee& t, int round) {
  double phase = 0.1 + round;
  for (const auto& p : t.optimizer.parameters()) {
    torch::Tensor tensor = p->tensor();
    auto gradient = torch::empty_like(tensor.detach());
    auto* values = gradient.mutable_data_ptr<float>();
    for (std::int64_t i = 0; i < gradient.numel(); ++i)
      values[i] = static_cast<float>(std::sin(phase += 0.7));
    tensor.mutable_grad() = gradient;
  }
}

config::optimizer_block decaying() {
  config::optimizer_block b;
  b.weight_decay = 0.1;
  b.no_weight_decay = {};
  b.beta1 = 0.8;
  b.beta2 = 0.95;
  return b;
}

} // namespace

TEST_CASE("updates follow the formula of AdamW in double") {
  trainee t;
  const auto settings = decaying();
  std::map<std::string, torch::Tensor> weight, first, second;
  for (const auto& [name, tensor] : t.weights()) {
    weight[name] = tensor.to(torch::kFloat64);
    first[name] = second[name] = torch::zeros_like(weight[name]);
  }
  for (int step = 1; step <= 3; ++step) {
    const double rate = 0.01 / step, scale = 0.5;
    fill_gradients(t, step);
    for (const auto& p : t.optimizer.parameters()) {
      const auto g = p->tensor().grad().to(torch::kFloat64) * scale;
      auto& m = first[p->name()];
      auto& v = second[p->name()];
      auto& w = weight[p->name()];
      m = settings.beta1 * m + (1 - settings.beta1) * g;
      v = settings.beta2 * v + (1 - settings.beta2) * g * g;
      w = w * (1 - rate * settings.weight_decay)
          - rate * (m / (1 - std::pow(settings.beta1, step)))
              / ((v / (1 - std::pow(settings.beta2, step))).sqrt()
                 + settings.epsilon);
    }

    t.optimizer.update(settings, rate, scale);
  }

  CHECK(t.optimizer.num_updates() == 3);
  CHECK(largest_difference(t.weights(), weight) < 1e-6);
  CHECK(largest_difference(t.moments(".first"), first) < 1e-6);
  CHECK(largest_difference(t.moments(".second"), second) < 1e-6);
}

TEST_CASE("an update leaves gradients of 0") {
  trainee t;
  fill_gradients(t, 1);
  CHECK(t.optimizer.norms().all > 1);

  t.optimizer.update(decaying(), 0.01, 1);

  CHECK(t.optimizer.norms().all == 0);
}

TEST_CASE(
  "the gradient norm is that of all tensors where absent ones count as 0") {
  trainee t;
  CHECK(t.optimizer.norms().all == 0);
  fill_gradients(t, 1);
  double sum = 0;
  for (const auto& p : t.optimizer.parameters())
    sum += p->tensor().grad().to(torch::kFloat64).pow(2).sum().item<double>();

  CHECK(t.optimizer.norms().all
        == doctest::Approx(std::sqrt(sum)).epsilon(1e-12));
}

TEST_CASE("after a reset an update is a first one") {
  trainee used, fresh;
  fill_gradients(used, 1);
  used.optimizer.update(decaying(), 0, 1); // moments, but the same weights
  const auto settings = decaying();
  used.optimizer.reset();
  CHECK(used.optimizer.num_updates() == 0);
  CHECK(used.optimizer.state().empty());

  for (auto* t : {&used, &fresh}) {
    fill_gradients(*t, 2);
    t->optimizer.update(settings, 0.01, 1);
  }

  CHECK(same_bits(used.weights(), fresh.weights()));
}

TEST_CASE("a restored optimizer goes on with the same bits") {
  const troupe::tests::temporary_folder folder;
  trainee t, other;
  fill_gradients(t, 1);
  t.optimizer.update(decaying(), 0, 1);
  checkpoint::write_safetensors(folder / "moments", t.optimizer.state());

  other.optimizer.restore(
    checkpoint::safetensors_reader::open(folder / "moments"), 1);

  CHECK(other.optimizer.num_updates() == 1);
  for (auto* each : {&t, &other}) {
    fill_gradients(*each, 2);
    each->optimizer.update(decaying(), 0.01, 1);
  }
  CHECK(same_bits(t.weights(), other.weights()));
  CHECK(same_bits(t.moments(".first"), other.moments(".first")));
  CHECK(same_bits(t.moments(".second"), other.moments(".second")));
}

TEST_CASE(
  "state of another model is refused by the tensor's name without effect") {
  const troupe::tests::temporary_folder folder;
  trainee t;
  fill_gradients(t, 1);
  t.optimizer.update(decaying(), 0.01, 1);
  const auto before = t.moments(".first");
  auto state = t.optimizer.state();
  std::string text;
  SUBCASE("another shape") {
    for (auto& view : state)
      if (view.name == "model.norm.weight.second")
        view.shape = {6, 8};
    checkpoint::write_safetensors(folder / "moments", state);
    text = failure_of([&] {
      t.optimizer.restore(
        checkpoint::safetensors_reader::open(folder / "moments"), 5);
    });
    CHECK(text
          == "model_mismatch: optimizer state 'model.norm.weight.second' has "
             "the shape [6, 8], its parameter [48]");
  }
  SUBCASE("a tensor is missing") {
    std::erase_if(state, [](const auto& view) {
      return view.name == "model.norm.weight.first";
    });
    checkpoint::write_safetensors(folder / "moments", state);
    text = failure_of([&] {
      t.optimizer.restore(
        checkpoint::safetensors_reader::open(folder / "moments"), 5);
    });
    CHECK(text.starts_with("model_mismatch: "));
    CHECK(contains(text, "model.norm.weight.first"));
    CHECK(contains(text, (folder / "moments").string()));
  }
  CHECK(t.optimizer.num_updates() == 1);
  CHECK(same_bits(t.moments(".first"), before));
}

TEST_CASE("parameters that fit a pattern do not decay") {
  trainee plain, excluding;
  auto settings = decaying();
  settings.weight_decay = 0;
  fill_gradients(plain, 1);
  plain.optimizer.update(settings, 0.1, 1.0);

  settings.weight_decay = 0.5;
  settings.no_weight_decay = {"*norm.weight", "*.bias"};
  fill_gradients(excluding, 1);
  excluding.optimizer.update(settings, 0.1, 1.0);

  const auto without = plain.weights();
  for (const auto& [name, tensor] : excluding.weights()) {
    CAPTURE(name);
    CHECK(tensor.equal(without.at(name)) == name.ends_with("norm.weight"));
  }
}

TEST_CASE("norms of the parts make up that of all") {
  trainee t;
  fill_gradients(t, 1);

  const auto norms = t.optimizer.norms();

  double squares = 0;
  for (const auto& [part, norm] : norms.by_part)
    squares += norm * norm;
  CHECK(std::sqrt(squares) == doctest::Approx(norms.all));
  CHECK(norms.by_part.size() == 4); // the head is tied
  double of_attention = 0;
  for (const auto& p : t.optimizer.parameters())
    if (p->name().find("self_attn") != std::string::npos)
      of_attention += p->tensor().grad().pow(2).sum().item<double>();
  CHECK(norms.by_part.at("attention")
        == doctest::Approx(std::sqrt(of_attention)));
}

TEST_SUITE_END();
