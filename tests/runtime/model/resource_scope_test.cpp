// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/resource_scope.hpp"

#include "runtime/model/engine.hpp"
#include "tests/runtime/model/toy_model.hpp"
#include "tests/support/failure_of.hpp"

#include "tests/support/doctest.hpp"

using namespace troupe::tests;
using model::attribute;
using model::resource_scope;

namespace {

std::int64_t number(const model::resource& found) {
  return std::get<std::int64_t>(std::get<attribute>(found));
}

std::shared_ptr<model::module> part(const model::resource& found) {
  return std::get<std::shared_ptr<model::module>>(found);
}

attribute integer(std::int64_t value) {
  return attribute{value};
}

} // namespace

TEST_SUITE("runtime.model.resource_scope") {

  TEST_CASE(
    "AR1 a module that the engine registered is found, the same object") {
    toy_workshop shop;
    auto engine = model::engine::initialize({.model = shop.list(1)});
    auto workspace = shop.block("workspace");

    engine->set_resource("workspace", workspace);

    CHECK(part(engine->find("workspace")) == workspace);
  }

  TEST_CASE("AR2 a name that only the model has gives the model's") {
    toy_workshop shop;
    auto model = shop.list(2);
    model->attributes["answer"] = integer(42);
    auto engine = model::engine::initialize({.model = model});

    CHECK(number(engine->find("answer")) == 42);
    CHECK(part(engine->find("1")) == model->children()[1].value);
    auto block = shop.block("block");
    auto other = model::engine::initialize({.model = block});
    CHECK(std::get<std::shared_ptr<shard::parameter>>(other->find("weight"))
          == block->parameters()[0].value);
  }

  TEST_CASE("AR3 a missing name is refused with the usual text") {
    toy_workshop shop;
    auto engine = model::engine::initialize({.model = shop.list(1)});

    CHECK(failure_of([&] { (void)engine->find("generate"); })
          == "attribute_missing: 'engine' object has no attribute 'generate'");
  }

  TEST_CASE("AR4 a lookup before a model is set is refused, not repeated") {
    resource_scope scope{"engine"};
    scope.set("depth", integer(1));

    CHECK(failure_of([&] { (void)scope.find("weight"); })
          == "attribute_missing: 'engine' object has no attribute 'weight'");
    CHECK(number(scope.find("depth")) == 1);
  }

  TEST_CASE("AR4 a lookup after destroy is refused") {
    toy_workshop shop;
    auto engine = model::engine::initialize({.model = shop.block("b")});
    engine->destroy();

    CHECK(failure_of([&] { (void)engine->find("weight"); })
          == "attribute_missing: 'engine' object has no attribute 'weight'");
  }

  TEST_CASE("AR5 a name in both gives the engine's") {
    toy_workshop shop;
    auto model = shop.list(1);
    model->attributes["id"] = integer(1);
    auto engine = model::engine::initialize({.model = model});

    engine->set_resource("id", integer(2));

    CHECK(number(engine->find("id")) == 2);
    CHECK(std::get<std::int64_t>(model->attributes["id"]) == 1);
  }

} // TEST_SUITE
