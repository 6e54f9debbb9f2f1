// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/load_plugin.hpp"

#include "kernels/adamw.hpp"
#include "runtime/model/engine.hpp"
#include "tests/runtime/model/small_decoder.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/temporary_folder.hpp"

#include "tests/support/doctest.hpp"

using namespace troupe::tests;
using std::filesystem::path;

namespace {

const path plugins{TROUPE_TEST_PLUGINS};

std::string refusal(const path& file) {
  model::module_registry registry;
  auto text = failure_of([&] { model::load_plugin(file, registry); });
  // A refused plug-in leaves nothing behind.
  CHECK(registry.type_names()
        == std::vector<std::string>{"gated_mlp", "plain_mlp"});
  return text;
}

class adamw_optimizer : public model::optimizer {
public:
  explicit adamw_optimizer(const model::module& trained) {
    for (const auto& held : trained.named_parameters())
      parameters_.push_back(held.value);
  }

  [[nodiscard]] std::string type_name() const override { return "adamw"; }

  [[nodiscard]] std::vector<std::shared_ptr<troupe::runtime::shard::parameter>>
  parameters() const override {
    return parameters_;
  }

  /// The first update of those that have a gradient.
  void first_step(troupe::kernels::thread_pool& pool) {
    for (const auto& held : parameters_) {
      const auto& gradient = held->tensor().grad();
      if (!gradient.defined())
        continue;
      const auto n = static_cast<std::size_t>(gradient.numel());
      std::vector<float> first(n), second(n);
      troupe::kernels::adamw({held->tensor().mutable_data_ptr<float>(), n},
                             {gradient.const_data_ptr<float>(), n}, first,
                             second, {.learning_rate = 1e-3F}, pool);
      held->tensor().mutable_grad() = torch::Tensor{};
    }
  }

private:
  std::vector<std::shared_ptr<troupe::runtime::shard::parameter>> parameters_;
};

/// The user's ids of one layer's experts.
std::vector<std::int64_t> expert_ids(const model::decoder& decoder) {
  const auto& layers = decoder.children()[0].value->children()[1].value;
  const auto& mlp = layers->children()[0].value->children()[3].value;
  std::vector<std::int64_t> ids;
  for (const auto& held : mlp->children()[1].value->children())
    ids.push_back(std::get<std::int64_t>(held.value->attributes["id"]));
  return ids;
}

} // namespace

TEST_SUITE("runtime.model.load_plugin") {

  TEST_CASE("what is no plug-in is refused by path and reason") {
    CHECK(refusal("/nowhere/libx.so")
          == "plugin_refused: plug-in /nowhere/libx.so: no such file");

    const temporary_folder folder;
    write_file(folder / "text.so", "no library");
    CHECK(contains(refusal(folder / "text.so"),
                   "plugin_refused: plug-in " + (folder / "text.so").string()
                     + ": it can't be loaded: "));

    const auto no_entry = plugins / "libno_entry_point.so";
    CHECK(contains(refusal(no_entry),
                   no_entry.string()
                     + ": it has no entry point 'troupe_plugin_abi'"));

    const auto wrong = plugins / "libwrong_abi.so";
    CHECK(contains(refusal(wrong),
                   wrong.string()
                     + ": it was built for plug-in ABI 99, this is 1"));
  }

  TEST_CASE("a type that is known already is refused with both origins") {
    const auto file = plugins / "libduplicate_type.so";
    CHECK(refusal(file)
          == "plugin_refused: plug-in " + file.string()
               + ": the module type 'gated_mlp' is known already, from troupe; "
                 "type names are unique");

    model::module_registry registry;
    const auto experts = plugins / "libexperts.so";
    model::load_plugin(experts, registry);
    CHECK(contains(failure_of([&] { model::load_plugin(experts, registry); }),
                   "'expert_mlp' is known already, from plug-in "
                     + experts.string()));
  }

  TEST_CASE("AM1 a plug-in's experts train, their ids stay 0 to 59") {
    troupe::kernels::thread_pool pool{2};
    model::module_registry registry;
    model::load_plugin(plugins / "libexperts.so", registry);
    std::vector<std::int64_t> zero_to_59(60);
    std::iota(zero_to_59.begin(), zero_to_59.end(), 0);
    auto config = small_config();
    config.mlp = "expert_mlp";
    const auto decoder = model::make_decoder(config, 5, registry);
    const auto optimizer = std::make_shared<adamw_optimizer>(*decoder);
    const auto engine =
      model::engine::initialize({.model = decoder, .optimizer = optimizer});
    CHECK(expert_ids(*decoder) == zero_to_59);

    // Towards the next token of a row.
    const auto ids = counted(3, 43);
    const auto loss = [&] {
      const auto logits = torch::matmul(
        packed_hidden(engine->model_as<model::decoder>(), pool, {ids}),
        decoder->lm_head_weight().t());
      const auto next = torch::tensor(counted(4, 44), torch::kInt64);
      return -logits.log_softmax(-1).gather(1, next.unsqueeze(1)).mean();
    };
    const auto before = loss();
    before.backward();
    optimizer->first_step(pool);

    CHECK(loss().item<float>() < before.item<float>());
    CHECK(expert_ids(*decoder) == zero_to_59);

    // Rows have the same bits packed and alone, experts or not.
    const at::NoGradGuard no_grad;
    CHECK(torch::equal(packed_hidden(*decoder, pool, {{1, 2}, ids}).slice(0, 2),
                       packed_hidden(*decoder, pool, {ids})));
  }

} // TEST_SUITE
