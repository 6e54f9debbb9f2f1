// SPDX-License-Identifier: Apache-2.0
#include "runtime/shard/sharding_context.hpp"

#include "tests/support/failure_of.hpp"

#include "tests/support/doctest.hpp"

using namespace troupe::runtime::shard;
using troupe::tests::failure_of;

namespace {

torch::Tensor made(std::uint64_t seed, const std::string& name,
                   std::vector<std::int64_t> shape = {512, 64}) {
  fresh_source source{seed};
  sharding_context context{{}, source};
  return context.factory()
    .make_parameter({.name = name, .shape = std::move(shape)})
    ->tensor()
    .detach();
}

} // namespace

TEST_SUITE("runtime.shard.sharding_context") {

  TEST_CASE("one rank keeps whole parameters that take a gradient") {
    fresh_source source{1};
    sharding_context context{{}, source};

    auto weight = context.factory().make_parameter(
      {.name = "w", .shape = {3, 2}, .fill = initialisation::ones});
    auto buffer = context.factory().make_buffer(
      {.name = "b", .shape = {2}, .fill = initialisation::zeros});

    CHECK(weight->tensor().sizes() == torch::IntArrayRef{3, 2});
    CHECK(weight->tensor().sum().item<float>() == 6);
    CHECK(weight->tensor().requires_grad());
    CHECK(weight->kind() == parameter_kind::trained);
    CHECK(buffer->tensor().sum().item<float>() == 0);
    CHECK_FALSE(buffer->tensor().requires_grad());
  }

  TEST_CASE("fresh values are a function of seed and name") {
    CHECK(torch::equal(made(1, "a"), made(1, "a")));
    CHECK_FALSE(torch::equal(made(1, "a"), made(2, "a")));
    CHECK_FALSE(torch::equal(made(1, "a"), made(1, "b")));
    // Bits by an independent computation: jobs from nothing start from them.
    const auto first = made(1, "a", {3});
    CHECK(first[0].item<float>() == -0x1.e82eeep-9F);
    CHECK(first[1].item<float>() == 0x1.ffe1d2p-7F);
    CHECK(first[2].item<float>() == -0x1.2ac3a6p-8F);
  }

  TEST_CASE("fresh values are spread as a normal distribution of 0.02") {
    const auto values = made(3, "model.embed_tokens.weight") / 0.02;
    CHECK(values.mean().item<double>() == doctest::Approx(0).epsilon(0.02));
    CHECK(values.std().item<double>() == doctest::Approx(1).epsilon(0.02));
    // 68.27 % within one deviation, 95.45 % within two.
    const auto within = [&](double deviations) {
      return (values.abs() < deviations)
        .to(torch::kFloat64)
        .mean()
        .item<double>();
    };
    CHECK(within(1) == doctest::Approx(0.6827).epsilon(0.02));
    CHECK(within(2) == doctest::Approx(0.9545).epsilon(0.02));
  }

  TEST_CASE("several ranks are refused by name") {
    fresh_source source{1};
    CHECK(
      failure_of([&] {
        const sharding_context context{{.rank = 1, .world_size = 4}, source};
      })
      == "unsupported: a model over several ranks is not supported yet: rank "
         "1 of world size 4; set placement.ranks to 1");
  }

} // TEST_SUITE
