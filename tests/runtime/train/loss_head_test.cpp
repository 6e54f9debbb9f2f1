// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/loss_head.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/support/doctest.hpp"

TEST_SUITE_BEGIN("runtime.train.loss_head");

using namespace troupe::runtime::train;

namespace {

constexpr std::int64_t num_rows = 23, width = 40, vocabulary = 57;

/// Values without a pattern that kernels could hide behind.
torch::Tensor made_up(std::int64_t rows, std::int64_t cols, double phase) {
  auto out = torch::empty({rows, cols}, torch::kFloat32);
  auto* values = out.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < rows * cols; ++i)
    values[i] = static_cast<float>(std::sin(phase + 1.7 * double(i)));
  return out;
}

struct head_fixture {
  head_fixture() {
    for (std::int32_t r = 0; r < num_rows; ++r)
      if (r % 3 != 0) {
        rows.push_back(r);
        targets.push_back((r * 11) % std::int32_t{vocabulary});
      }
  }

  [[nodiscard]] scored_rows scored() const { return {rows, targets}; }

  /// The whole table in double, with gradients.
  struct dense {
    torch::Tensor hidden, weight, logprobs, entropies;
  };
  [[nodiscard]] dense reference(float temperature, double cap = 0) const {
    dense d;
    d.hidden = hidden.to(torch::kFloat64).requires_grad_();
    d.weight = weight.detach().to(torch::kFloat64).requires_grad_();
    const auto at = torch::tensor(rows, torch::kInt64);
    auto logits = d.hidden.index_select(0, at).matmul(d.weight.t());
    if (cap > 0)
      logits = cap * torch::tanh(logits / cap);
    const auto all = (logits / double{temperature}).log_softmax(-1);
    d.logprobs =
      all.gather(1, torch::tensor(targets, torch::kInt64).unsqueeze(1))
        .squeeze(1);
    d.entropies = -(all.exp() * all).sum(-1);
    return d;
  }

  troupe::kernels::thread_pool pool{2};
  torch::Tensor hidden = made_up(num_rows, width, 0.3);
  torch::Tensor weight = made_up(vocabulary, width, 0.9).requires_grad_();
  std::vector<std::int32_t> rows, targets;
};

/// d loss / d logprob of token i in the tests here.
float coefficient(std::size_t i) {
  return 0.1F * static_cast<float>(i) - 0.6F;
}

struct outcome {
  std::vector<float> logprobs, entropies;
  torch::Tensor hidden_gradient, weight_gradient;
};

outcome run_backward(head_fixture& f, const loss_head_settings& settings) {
  outcome out;
  f.weight.mutable_grad().reset();
  out.hidden_gradient = backward(
    f.hidden, f.weight, f.scored(), settings,
    [&](std::size_t begin, auto logprobs, auto entropies, auto coefficients) {
      CHECK(begin == out.logprobs.size());
      out.logprobs.insert(out.logprobs.end(), logprobs.begin(), logprobs.end());
      out.entropies.insert(out.entropies.end(), entropies.begin(),
                           entropies.end());
      for (std::size_t i = 0; i < coefficients.size(); ++i)
        coefficients[i] = coefficient(begin + i);
    },
    f.pool);
  if (f.weight.requires_grad())
    out.weight_gradient = f.weight.grad().clone();
  return out;
}

bool same_bits(const torch::Tensor& a, const torch::Tensor& b) {
  return a.nbytes() == b.nbytes()
         && std::memcmp(a.const_data_ptr(), b.const_data_ptr(),
                        static_cast<std::size_t>(a.nbytes()))
              == 0;
}

double difference(const torch::Tensor& a, const torch::Tensor& expected) {
  return ((a.to(torch::kFloat64) - expected).norm() / expected.norm())
    .item<double>();
}

} // namespace

TEST_CASE("logprobs and entropies are those of the whole table in double") {
  head_fixture f;
  for (const float temperature : {1.0F, 0.7F}) {
    const auto expected = f.reference(temperature);

    const auto scores =
      score(f.hidden, f.weight, f.scored(), {temperature, 256}, f.pool);
    const auto run = run_backward(f, {temperature, 256});

    REQUIRE(scores.size() == f.rows.size());
    CHECK(run.logprobs == scores);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      CHECK(
        double{scores[i]}
        == doctest::Approx(expected.logprobs[at].item<double>()).epsilon(1e-6));
      CHECK(double{run.entropies[i]}
            == doctest::Approx(expected.entropies[at].item<double>())
                 .epsilon(1e-5));
    }
  }
}

TEST_CASE("capped logits and their gradients are those of autograd") {
  head_fixture f;
  constexpr float cap = 1.5F;
  const auto expected = f.reference(0.7F, double{cap});
  torch::Tensor loss = torch::zeros({}, torch::kFloat64);
  for (std::size_t i = 0; i < f.rows.size(); ++i)
    loss = loss
           + double{coefficient(i)}
               * expected.logprobs[static_cast<std::int64_t>(i)];
  loss.backward();
  for (const std::int64_t chunk : {3, 256}) {
    const auto run = run_backward(
      f, {.temperature = 0.7F, .chunk_tokens = chunk, .softcap = cap});
    for (std::size_t i = 0; i < run.logprobs.size(); ++i)
      CHECK(double{run.logprobs[i]}
            == doctest::Approx(
                 expected.logprobs[static_cast<std::int64_t>(i)].item<double>())
                 .epsilon(1e-6));
    CHECK(difference(run.hidden_gradient, expected.hidden.grad()) < 2e-6);
    CHECK(difference(run.weight_gradient, expected.weight.grad()) < 2e-6);
  }
}

TEST_CASE("gradients of hidden states and weights are those of autograd") {
  head_fixture f;
  for (const float temperature : {1.0F, 0.7F}) {
    auto expected = f.reference(temperature);
    auto loss = torch::zeros({}, torch::kFloat64);
    for (std::size_t i = 0; i < f.rows.size(); ++i)
      loss = loss
             + double{coefficient(i)}
                 * expected.logprobs[static_cast<std::int64_t>(i)];
    loss.backward();

    const auto run = run_backward(f, {temperature, 5});

    CHECK(difference(run.hidden_gradient, expected.hidden.grad()) < 2e-6);
    CHECK(difference(run.weight_gradient, expected.weight.grad()) < 2e-6);
    CHECK(run.hidden_gradient[0].abs().max().item<float>() == 0);
  }
}

TEST_CASE("the size of a chunk does not change a bit") {
  head_fixture f;
  const auto whole = run_backward(f, {0.9F, 256});
  for (const std::int64_t chunk : {1, 4, 15}) {
    CAPTURE(chunk);
    const auto scores =
      score(f.hidden, f.weight, f.scored(), {0.9F, chunk}, f.pool);
    const auto run = run_backward(f, {0.9F, chunk});

    CHECK(scores == whole.logprobs);
    CHECK(run.logprobs == whole.logprobs);
    CHECK(run.entropies == whole.entropies);
    CHECK(same_bits(run.hidden_gradient, whole.hidden_gradient));
    // The sum begins with what is there: chunks don't matter (linear.hpp).
    CHECK(same_bits(run.weight_gradient, whole.weight_gradient));
  }
}

TEST_CASE("a frozen head passes the gradient on and takes none") {
  head_fixture trained, frozen;
  frozen.weight.requires_grad_(false);
  const auto expected = run_backward(trained, {1.0F, 4});

  const auto out = run_backward(frozen, {1.0F, 4});

  CHECK(same_bits(out.hidden_gradient, expected.hidden_gradient));
  CHECK_FALSE(frozen.weight.grad().defined());
}

TEST_CASE("the weights' gradient is added to what is there") {
  head_fixture f;
  const auto once = run_backward(f, {1.0F, 256}).weight_gradient;

  backward(
    f.hidden, f.weight, f.scored(), {1.0F, 256},
    [](std::size_t begin, auto, auto, auto coefficients) {
      for (std::size_t i = 0; i < coefficients.size(); ++i)
        coefficients[i] = coefficient(begin + i);
    },
    f.pool);

  CHECK(difference(f.weight.grad(), (once * 2).to(torch::kFloat64)) < 1e-6);
}

TEST_CASE("P62: a NaN in a row that is not scored has no effect") {
  head_fixture f;
  const auto clean = run_backward(f, {1.0F, 8});
  f.hidden[0].fill_(std::numeric_limits<float>::quiet_NaN());
  f.hidden[21].fill_(std::numeric_limits<float>::quiet_NaN());

  const auto run = run_backward(f, {1.0F, 8});

  CHECK(run.logprobs == clean.logprobs);
  CHECK(same_bits(run.hidden_gradient, clean.hidden_gradient));
  CHECK(same_bits(run.weight_gradient, clean.weight_gradient));
}

TEST_SUITE_END();
