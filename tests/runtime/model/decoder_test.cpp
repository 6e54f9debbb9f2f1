// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/decoder.hpp"

#include "tests/runtime/model/small_decoder.hpp"
#include "tests/support/failure_of.hpp"

#include "tests/support/doctest.hpp"

using namespace troupe::tests;

namespace {

const std::vector<std::int32_t> prompt{7, 3, 49, 12, 3, 3, 21, 0, 5, 40, 11};

std::shared_ptr<model::decoder> small_decoder(bool tie = true) {
  auto config = small_config();
  config.tie_embeddings = tie;
  return model::make_decoder(config, 5, model::module_registry{});
}

std::shared_ptr<model::decoder> decoder_of(const model::decoder_config& c) {
  return model::make_decoder(c, 5, model::module_registry{});
}

/// A cache of its own memory: [slots, 16, K * E] a layer.
struct test_cache {
  std::vector<std::vector<float>> memory;
  std::vector<model::layer_cache> layers;
  std::int64_t row, slot;

  test_cache(const model::decoder_config& config, std::int64_t slots)
    : row(config.num_kv_heads * config.head_width), slot(16 * row) {
    memory.resize(
      4, std::vector<float>(static_cast<std::size_t>(slots * slot), NAN));
    layers = {{memory[0].data(), memory[1].data()},
              {memory[2].data(), memory[3].data()}};
  }

  torch::Tensor hidden(model::decoder& decoder,
                       troupe::kernels::thread_pool& pool,
                       const std::vector<std::int32_t>& ids,
                       const std::vector<std::int32_t>& slots,
                       const std::vector<std::int32_t>& positions) const {
    const at::NoGradGuard no_grad;
    return decoder.hidden(
      ids, {pool, positions, model::cached_rows{slots, layers, slot, row}});
  }
};

} // namespace

TEST_SUITE("runtime.model.decoder") {

  TEST_CASE("parameters have the names of Hugging Face files") {
    std::vector<std::string> names;
    for (const auto& held : small_decoder(false)->named_parameters())
      names.push_back(held.name);
    CHECK(names.size() == 3 + 2 * 9);
    CHECK(names[0] == "model.embed_tokens.weight");
    CHECK(names[1] == "model.layers.0.input_layernorm.weight");
    CHECK(names[2] == "model.layers.0.self_attn.q_proj.weight");
    CHECK(names[9] == "model.layers.0.mlp.down_proj.weight");
    CHECK(names[19] == "model.norm.weight");
    CHECK(names[20] == "lm_head.weight");
    // Made under the name that the tree gives.
    for (const auto& held : small_decoder(false)->named_parameters())
      CHECK(held.value->name() == held.name);
  }

  TEST_CASE("a tied head is the embedding") {
    const auto tied = small_decoder(true), own = small_decoder(false);
    CHECK(tied->lm_head_weight().is_same(
      tied->named_parameters().front().value->tensor()));
    CHECK(own->lm_head_weight().is_same(
      own->named_parameters().back().value->tensor()));
  }

  TEST_CASE("a sequence has the same bits alone, packed, and with gradients") {
    troupe::kernels::thread_pool pool{2}, one_thread{1};
    for (const auto& [name, config] : family_configs()) {
      CAPTURE(name);
      const auto decoder = decoder_of(config);
      const auto other = counted(20, 37);

      const auto recorded = packed_hidden(*decoder, pool, {prompt});
      const at::NoGradGuard no_grad;
      const auto alone = packed_hidden(*decoder, one_thread, {prompt});
      const auto packed = packed_hidden(*decoder, pool, {other, prompt, other});

      CHECK(recorded.requires_grad());
      CHECK_FALSE(alone.requires_grad());
      CHECK(torch::equal(recorded, alone));
      CHECK(torch::equal(packed.slice(0, 17, 28), alone));
      CHECK_FALSE(alone.isnan().any().item<bool>());
    }
  }

  TEST_CASE("a sequence after a prefix that it shares has the bits of alone") {
    troupe::kernels::thread_pool pool{2};
    const at::NoGradGuard no_grad;
    auto branch = prompt; // the same 7 tokens, then others
    for (std::size_t i = 7; i < branch.size(); ++i)
      branch[i] = prompt[i - 5];
    const auto size = static_cast<std::int32_t>(prompt.size());
    auto ids = prompt;
    ids.insert(ids.end(), branch.begin() + 7, branch.end());
    auto positions = counted(0, size);
    for (const auto at : counted(7, size))
      positions.push_back(at);
    const std::vector<std::int32_t> offsets{0, size, 2 * size - 7};
    const std::vector<model::row_range> prefixes{{}, {0, 7}};
    for (const auto& [name, config] : family_configs()) {
      CAPTURE(name);
      const auto decoder = decoder_of(config);
      const auto shared = decoder->hidden(
        ids, {pool, positions, model::packed_sequences{offsets, prefixes}});
      CHECK(torch::equal(shared.slice(0, 0, size),
                         packed_hidden(*decoder, pool, {prompt})));
      CHECK(torch::equal(shared.slice(0, size),
                         packed_hidden(*decoder, pool, {branch}).slice(0, 7)));
    }
  }

  TEST_CASE("rows of a cache have the bits of a packed sequence") {
    troupe::kernels::thread_pool pool{2};
    const at::NoGradGuard no_grad;
    for (const auto& [name, config] : family_configs()) {
      CAPTURE(name);
      const auto decoder = decoder_of(config);
      const auto whole = packed_hidden(*decoder, pool, {prompt});
      const test_cache cache{config, 3};

      // A chunk of 4, a chunk of 3 with a row of another slot between, then
      // single rows beside others.
      const auto first = cache.hidden(*decoder, pool, {7, 3, 49, 12},
                                      {1, 1, 1, 1}, {0, 1, 2, 3});
      const auto second =
        cache.hidden(*decoder, pool, {3, 9, 3, 21}, {1, 0, 1, 1}, {4, 0, 5, 6});
      CHECK(torch::equal(first, whole.slice(0, 0, 4)));
      CHECK(torch::equal(second[0], whole[4]));
      CHECK(torch::equal(second.slice(0, 2, 4), whole.slice(0, 5, 7)));
      for (std::int32_t t = 7; t < 11; ++t) {
        const auto row =
          cache.hidden(*decoder, pool, {prompt[static_cast<std::size_t>(t)], 4},
                       {1, 0}, {t, t - 6});
        CHECK(torch::equal(row[0], whole[t]));
      }
    }
  }

  TEST_CASE("a window hides what lies before it") {
    troupe::kernels::thread_pool pool{1};
    auto config = small_config();
    config.num_layers = 1;
    config.layers = {{.window = 4}};
    const auto decoder = decoder_of(config);
    auto changed = prompt;
    changed[2] = 22;
    const auto before = packed_hidden(*decoder, pool, {prompt});
    const auto after = packed_hidden(*decoder, pool, {changed});
    CHECK_FALSE(torch::equal(before[5], after[5]));
    CHECK(torch::equal(before.slice(0, 6), after.slice(0, 6)));
  }

  TEST_CASE("each family has as many weights as its config says") {
    for (const auto& [name, config] : family_configs())
      for (const bool tie : {true, false}) {
        CAPTURE(name);
        auto changed = config;
        changed.tie_embeddings = tie;
        std::int64_t count = 0;
        for (const auto& held : decoder_of(changed)->named_parameters())
          count += held.value->tensor().numel();
        CHECK(count == model::num_parameters(changed));
      }
  }

  TEST_CASE("logits are capped where the config says so") {
    troupe::kernels::thread_pool pool{1};
    const at::NoGradGuard no_grad;
    auto config = small_config();
    const auto ids = torch::tensor({7, 3, 49}, torch::kInt32);
    const std::vector<std::int32_t> positions{0, 1, 2}, offsets{0, 3};
    const auto logits_with = [&](double cap) {
      config.logit_softcap = cap;
      return decoder_of(config)->forward(
        ids, {pool, positions, model::packed_sequences{offsets}});
    };
    const auto plain = logits_with(0), capped = logits_with(2);
    CHECK(plain.abs().max().item<float>() > 2);
    CHECK(torch::allclose(capped, 2 * torch::tanh(plain / 2)));
  }

  TEST_CASE("a later token changes no earlier row") {
    troupe::kernels::thread_pool pool{1};
    const auto decoder = small_decoder();
    auto changed = prompt;
    changed[6] = 22;
    const auto before = packed_hidden(*decoder, pool, {prompt});
    const auto after = packed_hidden(*decoder, pool, {changed});
    CHECK(torch::equal(before.slice(0, 0, 6), after.slice(0, 0, 6)));
    CHECK_FALSE(torch::equal(before[6], after[6]));
  }

  TEST_CASE(
    "an input that does not fit is refused before anything is computed") {
    troupe::kernels::thread_pool pool{1};
    const auto decoder = small_decoder();
    const std::vector<std::int32_t> ids{1, 2}, offsets{0, 2}, positions{0, 1};
    const auto refusal = [&](std::vector<std::int32_t> tried_ids,
                             std::vector<std::int32_t> tried_positions,
                             std::vector<std::int32_t> tried_offsets) {
      return failure_of([&] {
        decoder->hidden(tried_ids, {pool, tried_positions,
                                    model::packed_sequences{tried_offsets}});
      });
    };
    CHECK(
      refusal({1, 50}, positions, offsets)
      == "invalid_request: a forward pass got the token id 50, allowed are 0 "
         "to 49");
    CHECK(
      refusal(ids, {0, 64}, offsets)
      == "invalid_request: a forward pass got the position 64, allowed are 0 "
         "to 63");
    CHECK(refusal(ids, {0}, offsets)
          == "invalid_request: a forward pass got 1 positions where 2 are "
             "needed");
    CHECK(contains(refusal(ids, positions, {0, 3}),
                   "rise from 0 to the number of rows, 2; these do not"));
    const auto of_prefix = [&](std::vector<model::row_range> prefixes) {
      return failure_of([&] {
        decoder->hidden(
          ids, {pool, positions, model::packed_sequences{offsets, prefixes}});
      });
    };
    CHECK(of_prefix({{}, {}})
          == "invalid_request: a forward pass got 2 prefixes where 1 are "
             "needed");
    CHECK(of_prefix({{0, 1}})
          == "invalid_request: the prefix of packed sequence 0 is rows 0 to 1, "
             "which do not lie before its first row, 0");
  }

  TEST_CASE("an unknown feed-forward type is refused by name") {
    auto config = small_config();
    config.mlp = "expert_mlp";
    CHECK(failure_of([&] {
            (void)model::make_decoder(config, 1, model::module_registry{});
          })
          == "model_unsupported: model.layers.0.mlp: no module type "
             "'expert_mlp'; known: gated_mlp, plain_mlp. More "
             "come from model.plugins");
  }

} // TEST_SUITE
