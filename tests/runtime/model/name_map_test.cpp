// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/name_map.hpp"

#include "runtime/model/engine.hpp"
#include "tests/runtime/model/toy_model.hpp"

#include <c10/util/intrusive_ptr.h>

#include "tests/support/doctest.hpp"

using namespace troupe::tests;
using model::engine_mutation;

namespace {

struct retained {
  int tensors = 0;
  double mebibytes = 0;
};

/// Replaces all 16 blocks of a 64 MiB model under an engine and says what is
/// left of the old ones.
retained after_replacing_blocks(engine_mutation mutation) {
  toy_workshop shop;
  constexpr std::int64_t width = 1 << 20; // 4 MiB
  auto model = shop.list(16, width);
  auto engine =
    model::engine::initialize({.model = model, .mutation = mutation});
  std::vector<c10::weak_intrusive_ptr<c10::TensorImpl>> old;
  for (const auto& held : model->named_parameters())
    old.emplace_back(held.value->tensor().getIntrusivePtr());

  for (int i = 0; i < 16; ++i)
    model->replace_child(std::to_string(i), shop.block("new", 1));

  retained left;
  for (const auto& tensor : old)
    if (auto alive = tensor.lock()) {
      ++left.tensors;
      left.mebibytes += static_cast<double>(alive->numel()) * 4 / (1 << 20);
    }
  return left;
}

/// 9 modules, 4 parameters.
std::shared_ptr<model::module> nine_modules(toy_workshop& shop) {
  auto root = std::make_shared<model::module_list>();
  for (int i = 0; i < 4; ++i)
    root->append(std::make_shared<toy_wrapper>(shop.block("b")));
  return root;
}

} // namespace

TEST_SUITE("runtime.model.name_map") {

  TEST_CASE("AW1 known objects have names, others are unknown") {
    toy_workshop shop;
    auto root = nine_modules(shop);
    auto engine = model::engine::initialize({.model = root});
    const auto& wrapper = *root->children()[2].value;
    const auto& block = *wrapper.children()[0].value;

    CHECK(engine->name_of(*root) == "");
    CHECK(engine->name_of(block) == "2.inner");
    CHECK(engine->name_of(*block.parameters()[0].value) == "2.inner.weight");
    CHECK(engine->name_of(*shop.block("other")) == "unknown");
    CHECK(engine->name_of(*shop.block("other")->parameters()[0].value)
          == "unknown");
  }

  TEST_CASE("AW2 replaced blocks are freed while the engine lives") {
    const auto left = after_replacing_blocks(engine_mutation::none);
    CHECK(left.tensors == 0);
    CHECK(left.mebibytes == 0.0);
  }

  TEST_CASE("AW2 maps that own their objects would be noticed") {
    const auto left =
      after_replacing_blocks(engine_mutation::names_own_objects);
    CHECK(left.tensors == 16);
    CHECK(left.mebibytes == 64.0);
  }

  TEST_CASE(
    "AW3 clear empties the maps of a living model, extract fills them") {
    toy_workshop shop;
    auto root = nine_modules(shop);
    auto engine = model::engine::initialize({.model = root});
    REQUIRE(engine->num_named_modules() == 9);
    REQUIRE(engine->num_named_parameters() == 4);

    engine->clear_names();

    CHECK(engine->num_named_modules() == 0);
    CHECK(engine->num_named_parameters() == 0);
    CHECK(engine->name_of(*root) == "unknown");
    engine->extract_names();
    CHECK(engine->num_named_modules() == 9);
    CHECK(engine->num_named_parameters() == 4);
    CHECK(engine->name_of(*root->children()[3].value) == "3");
  }

  TEST_CASE("AW4 a clear that does nothing would be noticed") {
    toy_workshop shop;
    auto root = nine_modules(shop);
    auto engine = model::engine::initialize(
      {.model = root, .mutation = engine_mutation::clear_does_nothing});

    engine->clear_names();

    CHECK(engine->num_named_modules() == 9);
    CHECK(engine->num_named_parameters() == 4);
  }

  TEST_CASE("AW5 a dropped object leaves the map") {
    toy_workshop shop;
    auto dropped = shop.block("b")->parameters()[0].value;
    const auto identity = dropped->identity();
    model::name_map names;
    names.insert(identity, dropped, "weight");
    REQUIRE(names.size() == 1);
    REQUIRE(names.name_of(identity) == "weight");

    dropped.reset();

    CHECK(names.size() == 0);
    CHECK(names.name_of(identity) == "unknown");
  }

  TEST_CASE("AW5 no identity is given twice, at whatever address") {
    model::name_map names;
    shard::object_id last{0};
    for (int i = 0; i < 1000; ++i) {
      toy_workshop shop;
      auto one = shop.block("b");
      CHECK(names.name_of(one->identity()) == "unknown");
      CHECK(one->identity() > last);
      last = one->identity();
      names.insert(last, one, "old");
    }
    CHECK(names.size() == 0);
  }

  TEST_CASE("AW6 destroying an engine leaves the names of another") {
    toy_workshop shop;
    auto first = model::engine::initialize({.model = shop.list(2)});
    auto kept = shop.list(3);
    auto second = model::engine::initialize({.model = kept});

    first->destroy();

    CHECK(first->num_named_modules() == 0);
    CHECK(second->num_named_modules() == 4);
    CHECK(second->name_of(*kept->children()[2].value) == "2");
  }

} // TEST_SUITE
