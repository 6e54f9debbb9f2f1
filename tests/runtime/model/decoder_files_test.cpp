// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/decoder_files.hpp"

#include "runtime/checkpoint/safetensors.hpp"
#include "tests/runtime/model/small_decoder.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/temporary_folder.hpp"

#include "tests/support/doctest.hpp"

using namespace troupe::tests;
namespace checkpoint = troupe::runtime::checkpoint;

namespace {

std::shared_ptr<model::decoder> fresh(bool tie) {
  auto config = small_config();
  config.tie_embeddings = tie;
  config.eos_token_ids = {2};
  return model::make_decoder(config, 5, model::module_registry{});
}

/// The decoder's tensors as a file holds them, to be changed by a test.
std::vector<checkpoint::tensor_view> views_of(const model::decoder& decoder) {
  std::vector<checkpoint::tensor_view> views;
  for (const auto& [name, held] : decoder.named_parameters())
    views.push_back(
      {.name = name,
       .dtype = checkpoint::tensor_dtype::f32,
       .shape = held->shape(),
       .data = static_cast<const std::byte*>(held->tensor().const_data_ptr()),
       .bytes = held->tensor().nbytes()});
  return views;
}

std::shared_ptr<model::decoder> load(const temporary_folder& folder) {
  return model::load_decoder(folder.path(), model::module_registry{});
}

} // namespace

TEST_SUITE("runtime.model.decoder_files") {

  TEST_CASE("a saved folder loads with the same bits, tokenizer files along") {
    for (const bool tie : {true, false}) {
      CAPTURE(tie);
      const temporary_folder folder, tokenizer;
      write_file(tokenizer / "tokenizer.json", "{}");
      const auto saved = fresh(tie);

      model::save_decoder(*saved, folder.path(), tokenizer.path());
      const auto loaded = load(folder);

      CHECK(read_file(folder / "tokenizer.json") == "{}");
      const auto from = saved->named_parameters();
      const auto to = loaded->named_parameters();
      REQUIRE(from.size() == to.size());
      for (std::size_t i = 0; i < from.size(); ++i)
        CHECK(torch::equal(from[i].value->tensor(), to[i].value->tensor()));
      CHECK(loaded->config().tie_embeddings == tie);
      CHECK((checkpoint::safetensors_reader::open(folder.path())
               .find("lm_head.weight")
             == nullptr)
            == tie);
    }
  }

  TEST_CASE("fused and turned tensors come back with the same bits") {
    for (const auto& [name, config] : family_configs()) {
      CAPTURE(name);
      const auto saved =
        model::make_decoder(config, 5, model::module_registry{});
      std::vector<model::file_tensor> parameters;
      for (const auto& held : saved->named_parameters())
        parameters.push_back({held.name, held.value->tensor().detach()});
      const auto files = model::to_file_tensors(config, parameters);
      const auto find = [&](const std::string& wanted) {
        for (const auto& tensor : files)
          if (tensor.name == wanted)
            return tensor.value;
        return torch::Tensor{};
      };
      const auto ours = [&](const std::string& part) {
        for (const auto& held : parameters)
          if (held.name == "model.layers.1.self_attn." + part)
            return held.value;
        return torch::Tensor{};
      };
      if (config.family == "gpt2") {
        const auto fused = find("transformer.h.1.attn.c_attn.weight");
        REQUIRE(fused.sizes() == at::IntArrayRef({32, 96}));
        CHECK(torch::equal(fused.slice(1, 32, 64), ours("k_proj.weight").t()));
        CHECK(torch::equal(find("transformer.h.1.attn.c_proj.weight"),
                           ours("o_proj.weight").t()));
        CHECK(find("transformer.wpe.weight").defined());
        CHECK(files.size() == 4 + 2 * 12);
      }
      if (config.family == "gpt_neox") {
        const auto fused =
          find("gpt_neox.layers.1.attention.query_key_value.weight");
        REQUIRE(fused.sizes() == at::IntArrayRef({96, 32}));
        // Of head 2: q, k, v of 8 rows each.
        CHECK(torch::equal(fused.slice(0, 56, 64),
                           ours("k_proj.weight").slice(0, 16, 24)));
      }

      const temporary_folder folder;
      std::vector<checkpoint::tensor_view> views;
      for (const auto& [file_name, value] : files)
        views.push_back(
          {.name = file_name,
           .dtype = checkpoint::tensor_dtype::f32,
           .shape = value.sizes().vec(),
           .data = static_cast<const std::byte*>(value.const_data_ptr()),
           .bytes = value.nbytes()});
      checkpoint::write_safetensors(folder / "model.safetensors", views);
      const auto loaded =
        model::load_weights(config, folder.path(), model::module_registry{});
      const auto again = loaded->named_parameters();
      REQUIRE(again.size() == parameters.size());
      for (std::size_t i = 0; i < again.size(); ++i)
        CHECK(torch::equal(again[i].value->tensor(), parameters[i].value));
    }
  }

  TEST_CASE("files of a body without a head in front of their names load") {
    const temporary_folder folder;
    const auto saved = fresh(true);
    model::save_decoder(*saved, folder.path(), folder.path());
    auto views = views_of(*saved);
    for (auto& view : views)
      view.name = view.name.substr(std::string{"model."}.size());
    views.push_back(views[1]); // a mask, as GPT-2's files hold
    views.back().name = "layers.0.attn.bias";
    checkpoint::write_safetensors(folder / "model.safetensors", views);
    CHECK(
      torch::equal(load(folder)->lm_head_weight(), saved->lm_head_weight()));
  }

  TEST_CASE("training loaded weights leaves the file as it is") {
    const temporary_folder folder;
    model::save_decoder(*fresh(true), folder.path(), folder.path());
    const auto bytes = read_file(folder / "model.safetensors");

    const auto loaded = load(folder);
    const at::NoGradGuard no_grad;
    for (const auto& held : loaded->named_parameters()) {
      auto tensor = held.value->tensor();
      tensor.add_(1);
    }

    CHECK(read_file(folder / "model.safetensors") == bytes);
    const auto again = load(folder);
    CHECK(
      (loaded->lm_head_weight() - again->lm_head_weight()).mean().item<float>()
      == doctest::Approx(1));
  }

  TEST_CASE("bfloat16 and float16 files are widened") {
    for (const auto dtype :
         {checkpoint::tensor_dtype::bf16, checkpoint::tensor_dtype::f16}) {
      const temporary_folder folder;
      const auto saved = fresh(true);
      model::save_decoder(*saved, folder.path(), folder.path());
      auto views = views_of(*saved);
      std::vector<std::vector<std::uint16_t>> narrow;
      for (auto& view : views) {
        const std::span<const float> wide{
          reinterpret_cast<const float*>(view.data), view.num_elements()};
        auto& bits = narrow.emplace_back(wide.size());
        dtype == checkpoint::tensor_dtype::bf16
          ? checkpoint::f32_to_bf16(wide, bits)
          : checkpoint::f32_to_f16(wide, bits);
        view.dtype = dtype;
        view.data = reinterpret_cast<const std::byte*>(bits.data());
        view.bytes = bits.size() * 2;
      }
      checkpoint::write_safetensors(folder / "model.safetensors", views);

      const auto loaded = load(folder);

      const auto kind = dtype == checkpoint::tensor_dtype::bf16
                          ? torch::kBFloat16
                          : torch::kFloat16;
      CHECK(torch::equal(loaded->lm_head_weight(),
                         saved->lm_head_weight().to(kind).to(torch::kFloat32)));
    }
  }

  TEST_CASE("names and shapes that do not fit are refused") {
    const temporary_folder folder;
    const auto saved = fresh(true);
    model::save_decoder(*saved, folder.path(), folder.path());
    const auto refusal = [&](std::vector<checkpoint::tensor_view> views) {
      checkpoint::write_safetensors(folder / "model.safetensors", views);
      return failure_of([&] { (void)load(folder); });
    };
    const auto at = "model_mismatch: " + folder.path().string() + ": ";

    auto without = views_of(*saved);
    without.erase(without.begin() + 2);
    CHECK(refusal(without)
          == at
               + "no tensor 'model.layers.0.self_attn.q_proj.weight' in its "
                 "safetensors, the config wants it with shape [32, 32]");

    auto turned = views_of(*saved);
    turned[0].shape = {32, 50};
    CHECK(refusal(turned)
          == at
               + "tensor 'model.embed_tokens.weight' has shape [32, 50] in its "
                 "safetensors, the config wants [50, 32]");

    auto more = views_of(*saved);
    more.push_back(more[0]);
    more.back().name = "model.layers.0.self_attn.q_proj.bias";
    CHECK(refusal(more)
          == at
               + "tensor 'model.layers.0.self_attn.q_proj.bias' of shape [50, "
                 "32] has no place in the model that config.json describes");

    // A copy of the tied head is no error.
    more.back().name = "lm_head.weight";
    CHECK(refusal(more) == "no failure");
  }

} // TEST_SUITE
