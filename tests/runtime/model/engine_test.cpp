// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/engine.hpp"

#include "tests/runtime/model/toy_model.hpp"
#include "tests/support/failure_of.hpp"

#include "tests/support/doctest.hpp"

using namespace troupe::tests;
using model::engine;
using model::engine_mutation;

namespace {

/// 60 experts, with ids of their user.
std::shared_ptr<model::module_list> experts(toy_workshop& shop) {
  auto model = shop.list(60);
  for (std::int64_t i = 0; i < 60; ++i)
    model->children()[static_cast<std::size_t>(i)].value->attributes["id"] = i;
  return model;
}

std::vector<std::int64_t> user_ids(const model::module& model) {
  std::vector<std::int64_t> ids;
  for (const auto& held : model.children())
    ids.push_back(std::get<std::int64_t>(held.value->attributes["id"]));
  return ids;
}

/// The engine's own ids of a list and its children.
std::vector<std::int64_t> runtime_ids(const engine& engine,
                                      const model::module& model) {
  std::vector<std::int64_t> ids{engine.module_id(model)};
  for (const auto& held : model.children())
    ids.push_back(engine.module_id(*held.value));
  return ids;
}

std::vector<std::int64_t> counted_to(std::int64_t end) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < end; ++i)
    ids.push_back(i);
  return ids;
}

/// One step on the engine's model; returns the first block's first weight.
float train(engine& engine) {
  troupe::kernels::thread_pool pool{1};
  auto& optimizer = dynamic_cast<toy_optimizer&>(*engine.optimizer());
  engine.model()
    ->forward(torch::ones({1, 4}), {pool, {}, model::packed_sequences{}})
    .sum()
    .backward();
  optimizer.step();
  return optimizer.parameters()[0]->tensor()[0].item<float>();
}

} // namespace

TEST_SUITE("runtime.model.engine") {

  TEST_CASE("AM1 ids that users gave their modules stay") {
    toy_workshop shop;
    auto model = experts(shop);

    auto engine = engine::initialize({.model = model});

    CHECK(user_ids(*model) == counted_to(60));
    CHECK(model->attributes.empty());
  }

  TEST_CASE("AM1 ids written into user attributes would be noticed") {
    toy_workshop shop;
    auto model = experts(shop);

    auto engine = engine::initialize(
      {.model = model, .mutation = engine_mutation::ids_in_user_attributes});

    CHECK(user_ids(*model) != counted_to(60));
  }

  TEST_CASE("AM2 ids of a second model start at the same base") {
    toy_workshop shop;
    auto model = shop.list(3), other = shop.list(3);
    auto first = engine::initialize({.model = model});
    auto second = engine::initialize({.model = other});

    CHECK(runtime_ids(*first, *model) == counted_to(4));
    CHECK(runtime_ids(*second, *other) == counted_to(4));
    CHECK(contains(failure_of([&] { (void)first->module_id(*other); }),
                   "a module of type 'module_list' has no id in this engine"));
  }

  TEST_CASE("AM2 ids that go on from engine to engine would be noticed") {
    toy_workshop shop;
    auto model = shop.list(3), other = shop.list(3);
    const auto mutation = engine_mutation::ids_process_wide;
    auto first = engine::initialize({.model = model, .mutation = mutation});
    auto second = engine::initialize({.model = other, .mutation = mutation});

    CHECK(runtime_ids(*second, *other) != runtime_ids(*first, *model));
  }

  TEST_CASE("AM3 a model of a living engine is refused, and still trains") {
    toy_workshop shop;
    auto model = shop.list(1);
    auto engine = engine::initialize(
      {.model = model, .optimizer = std::make_shared<toy_optimizer>(*model)});

    CHECK(failure_of([&] { (void)engine::initialize({.model = model}); })
          == "already_owned: model 'module_list' belongs to a living engine "
             "already; destroy that engine first, or initialize with another "
             "model");
    CHECK(train(*engine) == doctest::Approx(0.9));
  }

  TEST_CASE("AM3 a second engine that nobody refuses would be noticed") {
    toy_workshop shop;
    auto model = shop.list(1);
    auto first = engine::initialize({.model = model});

    CHECK(failure_of([&] {
            (void)engine::initialize(
              {.model = model, .mutation = engine_mutation::owners_unchecked});
          })
          == "no failure");
  }

  TEST_CASE("AM4 an optimizer of a living engine is refused with any model") {
    toy_workshop shop;
    auto model = shop.list(1), other = shop.list(1);
    auto optimizer = std::make_shared<toy_optimizer>(*model);
    auto engine = engine::initialize({.model = model, .optimizer = optimizer});

    CHECK(failure_of([&] {
            (void)engine::initialize({.model = other, .optimizer = optimizer});
          })
          == "already_owned: optimizer 'toy_optimizer' belongs to a living "
             "engine already; destroy that engine first, or initialize with "
             "another optimizer");
    // The refusal left the other model free.
    CHECK(engine::initialize({.model = other})->module_id(*other) == 0);
  }

  TEST_CASE("AM5 after destroy all is as the first time") {
    toy_workshop shop;
    auto model = shop.list(2);
    auto optimizer = std::make_shared<toy_optimizer>(*model);
    const auto use_count = model.use_count();
    auto first = engine::initialize({.model = model, .optimizer = optimizer});
    CHECK(train(*first) == doctest::Approx(0.9));

    first->destroy();
    first->destroy();

    CHECK(model.use_count() == use_count);
    CHECK(contains(failure_of([&] { (void)first->model(); }),
                   "refused_by_state: the engine has been destroyed"));
    auto second = engine::initialize({.model = model, .optimizer = optimizer});
    CHECK(runtime_ids(*second, *model) == counted_to(3));
    // Were a hook doubled, the step would be, too: d(w0 w1)/dw0 = 0.9.
    CHECK(train(*second) == doctest::Approx(0.81));
  }

  TEST_CASE("AM5 an engine that goes out of scope frees its objects") {
    toy_workshop shop;
    auto model = shop.list(2);
    (void)engine::initialize({.model = model});

    CHECK(engine::initialize({.model = model})->module_id(*model) == 0);
  }

  TEST_CASE("AM5 a destroy that keeps its objects would be noticed") {
    toy_workshop shop;
    auto model = shop.list(2);
    auto engine = engine::initialize(
      {.model = model, .mutation = engine_mutation::destroy_keeps_owner});

    engine->destroy();

    CHECK(
      contains(failure_of([&] { (void)engine::initialize({.model = model}); }),
               "already_owned"));
  }

  TEST_CASE("AM6 an optimizer of other parameters is refused") {
    toy_workshop shop;
    auto model = shop.list(1);
    auto optimizer = std::make_shared<toy_optimizer>(*shop.list(1));

    CHECK(
      failure_of([&] {
        (void)engine::initialize({.model = model, .optimizer = optimizer});
      })
      == "foreign_parameter: optimizer 'toy_optimizer' updates the parameter "
         "'0.weight', which is none of the model 'module_list'; make it from "
         "the model's named_parameters()");
  }

  TEST_CASE("AM6 an optimizer that nobody looks at would be noticed") {
    toy_workshop shop;
    auto optimizer = std::make_shared<toy_optimizer>(*shop.list(1));

    CHECK(failure_of([&] {
            (void)engine::initialize(
              {.model = shop.list(1),
               .optimizer = optimizer,
               .mutation = engine_mutation::optimizer_unchecked});
          })
          == "no failure");
  }

  TEST_CASE("a group of several ranks is refused by name") {
    toy_workshop shop;
    CHECK(
      failure_of([&] {
        (void)engine::initialize(
          {.model = shop.list(1), .group = {.rank = 0, .world_size = 2}});
      })
      == "unsupported: a model over several ranks is not supported yet: rank "
         "0 of world size 2; set placement.ranks to 1");
  }

} // TEST_SUITE
