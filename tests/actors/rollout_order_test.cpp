// SPDX-License-Identifier: Apache-2.0
//
// The rollout beside a real parameter shard, with a cache owner that is played
// and a model of a few hundred weights. What the tables say is looked for in
// the journal.
#include "actors/rollout.hpp"

#include "actors/parameter_shard.hpp"
#include "actors/real.hpp"
#include "runtime/experience/row_codec.hpp"
#include "runtime/journal/check.hpp"
#include "runtime/journal/reader.hpp"
#include "tests/actors/rank_fixture.hpp"

#include <algorithm>
#include <limits>

#include "tests/support/doctest.hpp"

namespace {

using namespace troupe;
using namespace troupe::protocols;
using namespace troupe::actors;
namespace experience = runtime::experience;

/// Leases memory, or says no.
class played_cache : public actor_base<cache_owner_actor> {
public:
  played_cache(caf::actor_config& config, process_context& process,
               bool is_willing)
    : actor_base(config, process, {"cache", "cache", "test"}),
      is_willing_(is_willing) {}

  behavior_type make_behavior() override {
    started();
    return {on(&played_cache::on_lease),
            on(&played_cache::on_give_back),
            on(&played_cache::on_park),
            on(&played_cache::on_release),
            on(&played_cache::on_retake),
            on(&played_cache::on_close),
            on_continuation()};
  }

private:
  caf::result<leased> on_lease(lease& request) {
    if (!is_willing_)
      throw failure(errc::memory_refused, "the cache has not got the bytes");
    memory_.resize(request.bytes / sizeof(float) + 1);
    return leased{reinterpret_cast<std::uint64_t>(memory_.data()),
                  request.bytes, 1};
  }
  caf::result<gave_back> on_give_back(give_back&) { return gave_back{}; }
  caf::result<parked> on_park(park&) { return parked{}; }
  caf::result<cache_released> on_release(release_cache&) {
    return cache_released{};
  }
  caf::result<retaken> on_retake(retake&) { return retaken{}; }
  caf::result<cache_closed> on_close(close_cache&) { return cache_closed{}; }

  bool is_willing_;
  std::vector<float> memory_;
};

struct fixture : tests::rank_fixture {
  fixture() {
    host.serve(experience::service_rows, [](std::span<const std::byte> bytes) {
      std::vector<experience::rollout_group> rows;
      for (const auto& id : experience::decode_row_request(bytes).ids)
        rows.push_back({.id = id, .prompt_ids = {1, 2}, .samples = {}});
      return experience::encode_rows(rows);
    });
    rank.model = std::make_unique<runtime::train::rank_model>(
      rank.config, rank.use, std::filesystem::path{}, pool);
    shard = spawn_parameter_shard(*system, rank);
  }
  ~fixture() {
    end_all();
    compute.close(tests::patience);
  }

  void end_all() {
    end({caf::actor_cast<caf::actor>(roll), cache,
         caf::actor_cast<caf::actor>(shard)});
    roll = nullptr;
    cache = nullptr;
    shard = nullptr;
  }

  void with_cache(bool is_willing) {
    const auto played =
      system->spawn<played_cache>(std::ref(process), is_willing);
    cache = caf::actor_cast<caf::actor>(played);
    roll = spawn_rollout(*system, rank, shard, played);
    CHECK(code_of<acknowledged>(
            shard, know_rollout{caf::actor_cast<caf::strong_actor_ptr>(roll)})
          == errc::none);
  }

  template <class Reply, class Target, class Request>
  errc code_of(const Target& target, Request request) {
    const auto refusal = ask<Reply>(target, std::move(request));
    return refusal ? refusal->code() : errc::none;
  }

  errc generate_one() {
    generate request{
      process.make_header(), {group_id{0, 0, 0}}, 2, "train", {}};
    request.settings.temperature = to_real(1.0);
    request.settings.top_p = to_real(1.0);
    request.settings.max_new_tokens = 3;
    return code_of<groups_generated>(roll, request);
  }

  /// "machine: from -> to by event" of all machines but the actors'.
  std::vector<std::string> moves() {
    process.journal->flush(std::chrono::steady_clock::now() + tests::patience);
    const auto journals = runtime::journal::read_journals(run.path());
    CHECK(runtime::journal::check_journals(journals).empty());
    std::vector<std::string> out;
    for (const auto& r : journals.at(0).records)
      if (r.what.kind == "rollout" || r.what.kind == "weights")
        out.push_back(r.what.kind + ": " + r.what.from + " -> " + r.what.to
                      + " by " + r.what.event);
    return out;
  }

  void fill_weights(const torch::Tensor& values) {
    const at::NoGradGuard no_gradients;
    auto tensor =
      rank.model->policy()->named_parameters().front().value->tensor();
    tensor.copy_(values);
  }

  /// Returns what they were.
  torch::Tensor break_weights() {
    auto whole = rank.model->policy()
                   ->named_parameters()
                   .front()
                   .value->tensor()
                   .detach()
                   .clone();
    fill_weights(
      torch::full_like(whole, std::numeric_limits<float>::quiet_NaN()));
    return whole;
  }

  parameter_shard_actor shard;
  caf::actor cache;
  rollout_actor roll;
};

} // namespace

TEST_SUITE_BEGIN("actors.rollout_order");

TEST_CASE_FIXTURE(fixture, "view and lease come before groups are counted") {
  with_cache(true);

  CHECK(generate_one() == errc::none);

  CHECK(moves()
        == std::vector<std::string>{
          "weights: inference -> inference by version_loaded",
          "rollout: unpublished -> ready by weights_changed",
          "weights: inference -> inference by view_requested",
          "rollout: ready -> generating by generate_requested",
          "rollout: generating -> ready by group_finished",
          "weights: inference -> inference by view_returned"});
}

TEST_CASE_FIXTURE(fixture, "without a lease nothing is generating") {
  with_cache(false);

  CHECK(generate_one() == errc::memory_refused);

  const auto all = moves();
  CHECK(all.back() == "weights: inference -> inference by view_returned");
  CHECK(std::none_of(all.begin(), all.end(), [](const std::string& m) {
    return m.find("generating") != std::string::npos;
  }));
}

TEST_CASE_FIXTURE(fixture,
                  "torn weights serve nothing, and the rollout knows") {
  with_cache(true);
  CHECK(code_of<may_update>(shard, begin_update{process.make_header()})
        == errc::none);

  CHECK(code_of<updated>(
          shard, end_update{process.make_header(),
                            static_cast<std::uint8_t>(update_outcome::failed)})
        == errc::none);

  CHECK(moves().back() == "rollout: ready -> unpublished by weights_torn");
  CHECK(generate_one() == errc::weights_torn);
  CHECK(code_of<may_update>(shard, begin_update{process.make_header()})
        == errc::weights_torn);
  CHECK(code_of<view_taken>(shard, take_view{process.make_header()})
        == errc::weights_torn);
}

TEST_CASE_FIXTURE(fixture, "a quantum that fails leaves nothing behind") {
  with_cache(true);
  const auto whole = break_weights();

  CHECK(generate_one() == errc::nonfinite_logits);
  CHECK(moves().back() == "weights: inference -> inference by view_returned");

  fill_weights(whole);
  CHECK(generate_one() == errc::none); // the same group, the same cache
}

TEST_CASE_FIXTURE(fixture, "a unit that fails is completed, too") {
  with_cache(true);
  break_weights();

  CHECK(generate_one() == errc::nonfinite_logits);

  CHECK(rank.gate.close() == 1);
  CHECK(rank.gate.last_completed() == 1);
}

TEST_CASE_FIXTURE(fixture, "it ends stopped") {
  with_cache(true);
  end_all();

  CHECK(moves().back() == "rollout: ready -> stopped by stop_requested");
}

TEST_SUITE_END();
