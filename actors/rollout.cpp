// SPDX-License-Identifier: Apache-2.0
#include "actors/rollout.hpp"

#include "actors/fetch_rows.hpp"
#include "actors/real.hpp"
#include "protocols/rollout_machine.hpp"
#include "runtime/rollout/decoder_model.hpp"
#include "runtime/rollout/rollout_engine.hpp"

#include <algorithm>
#include <deque>
#include <unordered_map>

namespace troupe::actors {

namespace {

using namespace protocols;
using runtime::config::deadline;
using runtime::experience::rollout_group;
namespace engine = runtime::rollout;
using event = rollout_machine::event;
using effect = rollout_machine::effect;

/// Requests that wait for the one that runs.
constexpr std::size_t max_pending_batches = 16;

class rollout : public actor_base<rollout_actor> {
public:
  rollout(caf::actor_config& config, rank_context& rank,
          parameter_shard_actor shard, cache_owner_actor cache)
    : actor_base(config, rank.process,
                 {"rollout/dp=0/tp=0", "rollout", "rank_supervisor/dp=0/tp=0"}),
      rank_(rank), shard_(std::move(shard)), cache_(std::move(cache)),
      machine_(make_machine<rollout_machine>(identity_.name)) {}

  behavior_type make_behavior() override {
    started();
    return {on(&rollout::on_generate),
            on(&rollout::on_consume),
            on(&rollout::on_weights_changed),
            on(&rollout::on_weights_torn),
            on(&rollout::on_drain),
            on(&rollout::on_release),
            on_continuation()};
  }

  /// Nobody waits in vain, and it is terminal before its owner.
  void on_exit() override {
    machine_.apply(event::stop_requested);
    const failure why{errc::shutting_down, identity_.name + " was stopped"};
    if (running_)
      running_->answer.refuse(why);
    for (const auto& b : pending_)
      b->answer.refuse(why);
    for (auto& answer : drain_answers_)
      answer.refuse(why);
    actor_base::on_exit();
  }

private:
  /// One `generate` on its way.
  struct batch {
    generate request;
    open_request<groups_generated> answer;
    std::vector<rollout_group> prompts;
    bool has_view = false, has_lease = false;
    bool is_admitted = false; ///< its groups are counted in the machine
  };

  caf::result<groups_generated> on_generate(generate& request) {
    if (pending_.size() >= max_pending_batches)
      throw failure(errc::capacity_exceeded,
                    identity_.name + ": " + std::to_string(pending_.size())
                      + " generate requests wait already, allowed: "
                      + std::to_string(max_pending_batches));
    if (request.ids.empty())
      throw failure(errc::invalid_request,
                    identity_.name + ": generate names no group");
    require_takes_groups();
    pending_.push_back(
      std::make_shared<batch>(batch{request, open<groups_generated>(), {}}));
    const auto answer = pending_.back()->answer.result();
    start_next();
    return answer;
  }

  /// Errors: shutting_down, weights_torn, refused_by_state; nothing changes.
  void require_takes_groups() {
    if (rank_.control.load() != 0) // sent before the loop knew
      throw drains();
    if (is_torn_)
      throw failure(errc::weights_torn,
                    identity_.name
                      + " generates nothing: an update broke off "
                        "after version "
                      + std::to_string(version_)
                      + "; resume from the newest checkpoint");
    if (machine_.peek(event::generate_requested).what == verdict::reject)
      machine_.apply(event::generate_requested); // says why
  }

  caf::result<consumed> on_consume(protocols::consume& request) {
    for (const auto& id : request.ids)
      rank_.store.drop(id);
    const auto num_groups = static_cast<std::uint32_t>(request.ids.size());
    record({.kind = "transfer",
            .subject = identity_.name + "/store",
            .event = "groups_consumed",
            .d = {{"groups", std::uint64_t{num_groups}},
                  {"groups_left", std::uint64_t{rank_.store.num_groups()}},
                  {"bytes_left", std::uint64_t{rank_.store.bytes()}}}});
    return consumed{num_groups};
  }

  caf::result<acknowledged> on_weights_changed(weights_changed& news) {
    const auto out = machine_.apply(event::weights_changed);
    if (out.taken && out.taken->effects[0] == effect::answer_refused)
      throw failure(errc::refused_by_state,
                    identity_.name + " refuses version "
                      + std::to_string(news.version) + ": its view of version "
                      + std::to_string(version_) + " is still out");
    is_torn_ = false;
    version_ = news.version;
    card_.set_progress({}, version_);
    return acknowledged{version_};
  }

  /// Rule 6. Groups under way end with the quantum that runs.
  caf::result<acknowledged> on_weights_torn(weights_torn& news) {
    machine_.apply(event::weights_torn);
    is_torn_ = true;
    return acknowledged{news.version};
  }

  caf::result<drained> on_drain(drain&) {
    machine_.apply(event::drain_requested);
    rank_.control.store(1);
    if (!running_)
      return drained{0};
    auto answer = open<drained>();
    drain_answers_.push_back(answer);
    return answer.result();
  }

  caf::result<released> on_release(release&) {
    auto answer = open<released>();
    run_on(
      rank_.compute, "release_engine",
      [this] {
        engine_.reset();
        model_.reset();
        return 0;
      },
      [answer](int) mutable {
        answer.answer({0, 0});
      },
      answer.otherwise());
    return answer.result();
  }

  // -- one batch, step by step ------------------------------------------------

  void start_next() {
    if (running_ || pending_.empty())
      return;
    running_ = pending_.front();
    pending_.pop_front();
    ask<view_taken>(
      shard_, "parameter_shard/dp=0/tp=0", take_view{process_.make_header()},
      deadline::control,
      [this](view_taken& view) {
        running_->has_view = true;
        version_ = view.version;
        fetch_prompts();
      },
      failing());
  }

  void fetch_prompts() {
    fetch_rows(rank_, {running_->request.split, running_->request.ids},
               [this, self = address(), around = seal()](fetched_rows got) {
                 auto shared = std::make_shared<fetched_rows>(std::move(got));
                 come_back(
                   self, "prompts_fetched",
                   [this, shared] {
                     if (shared->error) {
                       end_batch(*shared->error);
                       return;
                     }
                     running_->prompts = std::move(shared->rows);
                     lease_cache();
                   },
                   around);
               });
  }

  void lease_cache() {
    std::size_t longest = 0;
    for (const auto& row : running_->prompts)
      longest = std::max(longest, row.prompt_ids.size());
    const auto& shape = rank_.model->config();
    const auto num_samples = static_cast<std::int64_t>(
      running_->prompts.size() * running_->request.num_samples);
    const engine::kv_cache_layout layout{
      .num_layers = shape.num_layers,
      .num_slots = std::min(rank_.config.rollout.slots, num_samples),
      .slot_capacity_tokens = static_cast<std::int64_t>(
        longest + running_->request.settings.max_new_tokens),
      .row_width = shape.num_kv_heads * shape.head_width};
    ask<leased>(
      cache_, "cache_owner/dp=0/tp=0",
      lease{process_.make_header(), layout.num_bytes()}, deadline::control,
      [this, layout](leased& l) {
        running_->has_lease = true;
        admit(*running_);
        submit({reinterpret_cast<float*>(l.address), layout});
      },
      failing());
  }

  /// View and lease are there; whether they are needed is asked again.
  void admit(batch& b) {
    require_takes_groups();
    for (std::size_t i = 0; i < b.request.ids.size(); ++i)
      machine_.apply(event::generate_requested);
    b.is_admitted = true;
  }

  void submit(const engine::kv_cache_view& cache) {
    std::vector<engine::rollout_request> requests;
    for (std::size_t i = 0; i < running_->prompts.size(); ++i)
      requests.push_back(request_of(running_->prompts[i]));
    run_on(
      rank_.compute, "submit",
      [this, cache, requests = std::move(requests),
       cause = because_]() mutable {
        engine_cause_ = cause;
        make_engine();
        engine_->on_weights_changed(version_);
        engine_->attach_cache(cache);
        for (auto& r : requests)
          engine_->submit(std::move(r));
        return 0;
      },
      [this](int) { next_quantum(); }, dropping());
  }

  /// On the compute queue.
  void make_engine() {
    if (engine_)
      return;
    model_ = std::make_unique<engine::decoder_model>(rank_.model->policy(),
                                                     rank_.pool);
    engine_ = std::make_unique<engine::rollout_engine>(
      engine::engine_settings{.job_seed = rank_.config.run.seed}, *model_,
      rank_.pool,
      [this](std::int64_t slot, slot_machine::state from,
             slot_machine::event what, slot_machine::state to) {
        process_.journal->record(
          {.kind = "slot",
           .subject = identity_.name + "/slot=" + std::to_string(slot),
           .from = std::string{to_string(from)},
           .to = std::string{to_string(to)},
           .event = std::string{to_string(what)},
           .because = engine_cause_});
      });
  }

  /// On the compute queue: forgets what the engine holds.
  int drop_groups() {
    if (engine_ && engine_->has_cache()) {
      engine_->abort_all();
      engine_->take_finished();
      engine_->detach_cache();
    }
    return 0;
  }

  void next_quantum() {
    run_on(
      rank_.compute, "decode_quantum",
      [this, cause = because_] {
        engine_cause_ = cause;
        const runtime::process::unit_scope unit{rank_.gate};
        if (!unit)
          return engine::quantum_report{.end =
                                          engine::quantum_end::interrupted};
        return engine_->decode_quantum(rank_.config.rollout.quantum_steps,
                                       rank_.control);
      },
      [this](engine::quantum_report report) {
        switch (report.end) {
        case engine::quantum_end::idle: collect(); break;
        case engine::quantum_end::steps_done:
          is_torn_ ? abort_batch() : next_quantum();
          break;
        default: abort_batch(); break;
        }
      },
      dropping());
  }

  void collect() {
    run_on(
      rank_.compute, "take_finished",
      [this] {
        auto groups = engine_->take_finished();
        engine_->detach_cache();
        return groups;
      },
      [this](std::vector<rollout_group> groups) {
        std::unordered_map<group_id, group_summary> made;
        for (auto& group : groups) {
          made.emplace(group.id, summary_of(group));
          group.epoch = running_->request.head.epoch;
          rank_.store.put(std::move(group));
        }
        groups_generated reply;
        for (const auto& id : running_->request.ids)
          reply.groups.push_back(std::move(made.at(id)));
        finish_batch([reply](batch& b) { b.answer.answer(reply); });
      },
      dropping());
  }

  void abort_batch() {
    dropping()({is_torn_ ? errc::weights_torn : errc::shutting_down,
                identity_.name + ": "
                  + std::to_string(running_->request.ids.size())
                  + " groups were given up, "
                  + (is_torn_ ? "the weights are torn" : "to drain")});
  }

  void end_batch(const failure& why) {
    if (why.code() != errc::shutting_down)
      note(why);
    finish_batch([why](batch& b) { b.answer.refuse(why); });
  }

  failure_handler failing() {
    return [this](const failure& f) { end_batch(f); };
  }

  /// Of what fails while the engine may hold groups and the cache: both are let
  /// go before the lease is.
  failure_handler dropping() {
    return [this](const failure& why) {
      run_on(
        rank_.compute, "abort_groups", [this] { return drop_groups(); },
        [this, why](int) { end_batch(why); }, failing());
    };
  }

  /// Gives back what the batch holds, then answers, so that the caller may
  /// train at once.
  void finish_batch(std::function<void(batch&)> respond) {
    auto ended = running_;
    if (ended->is_admitted)
      for (std::size_t i = 0; i < ended->request.ids.size(); ++i)
        machine_.apply(event::group_finished);
    auto finish = [this, ended, respond = std::move(respond)] {
      running_ = nullptr;
      respond(*ended);
      if (rank_.control.load() != 0)
        refuse_pending();
      if (pending_.empty())
        answer_drained(ended->request.ids.size());
      else
        start_next();
    };
    const auto give_view = [this, ended, finish] {
      if (!ended->has_view) {
        finish();
        return;
      }
      ask<view_returned>(
        shard_, "parameter_shard/dp=0/tp=0",
        return_view{process_.make_header()}, deadline::control,
        [finish](view_returned&) { finish(); },
        [this, finish](const failure& f) {
          note(f);
          finish();
        });
    };
    if (!ended->has_lease) {
      give_view();
      return;
    }
    ask<gave_back>(
      cache_, "cache_owner/dp=0/tp=0", give_back{process_.make_header()},
      deadline::control, [give_view](gave_back&) { give_view(); },
      [this, give_view](const failure& f) {
        note(f);
        give_view();
      });
  }

  void refuse_pending() {
    while (!pending_.empty()) {
      const auto b = pending_.front();
      pending_.pop_front();
      b->answer.refuse(drains());
    }
  }

  [[nodiscard]] failure drains() const {
    return {errc::shutting_down, identity_.name + " drains: not begun"};
  }

  void answer_drained(std::size_t num_groups) {
    for (auto& answer : drain_answers_)
      answer.answer({static_cast<std::uint32_t>(num_groups)});
    drain_answers_.clear();
  }

  engine::rollout_request request_of(const rollout_group& row) const {
    const auto& r = running_->request;
    engine::rollout_request out;
    out.id = row.id;
    out.epoch = r.head.epoch;
    out.use = r.split == "train"      ? kernels::purpose::train
              : r.split == "generate" ? kernels::purpose::generate
                                      : kernels::purpose::eval;
    if (out.use == kernels::purpose::eval)
      out.eval_name = r.split;
    out.prompt_ids = row.prompt_ids;
    out.num_samples = r.num_samples;
    const auto& s = r.settings;
    out.sampling.temperature = static_cast<float>(value_of(s.temperature));
    out.sampling.top_p = static_cast<float>(value_of(s.top_p));
    out.sampling.top_k = static_cast<std::int32_t>(s.top_k);
    out.sampling.max_new_tokens = s.max_new_tokens;
    out.sampling.min_new_tokens = s.min_new_tokens;
    out.sampling.stop_ids = s.stop_token_ids;
    for (const auto id : rank_.model->config().eos_token_ids)
      out.sampling.stop_ids.push_back(id);
    return out;
  }

  static group_summary summary_of(const rollout_group& group) {
    group_summary out{.id = group.id,
                      .num_prompt_tokens =
                        static_cast<std::uint32_t>(group.prompt_ids.size())};
    out.min_version = group.samples.front().min_policy_version;
    for (const auto& s : group.samples) {
      out.num_tokens.push_back(
        static_cast<std::uint32_t>(s.completion_ids.size()));
      out.finish_reasons.push_back(static_cast<std::uint8_t>(s.finish));
      out.min_version = std::min(out.min_version, s.min_policy_version);
      out.max_version = std::max(out.max_version, s.max_policy_version);
    }
    return out;
  }

  // -- collaborators ----------------------------------------------------------
  rank_context& rank_;
  parameter_shard_actor shard_;
  cache_owner_actor cache_;

  // -- phase ------------------------------------------------------------------
  machine_instance<rollout_machine> machine_;
  policy_version version_ = 0;
  bool is_torn_ = false; ///< no whole version since an update that broke off

  // -- work in hand -----------------------------------------------------------
  std::deque<std::shared_ptr<batch>> pending_;
  std::shared_ptr<batch> running_; ///< null: idle
  std::vector<open_request<drained>> drain_answers_;

  // -- of the compute queue ---------------------------------------------------
  std::unique_ptr<engine::rollout_model> model_;
  std::unique_ptr<engine::rollout_engine> engine_;
  runtime::journal::cause engine_cause_; ///< of the slots' moves
};

} // namespace

rollout_actor spawn_rollout(caf::actor_system& system, rank_context& rank,
                            const parameter_shard_actor& shard,
                            const cache_owner_actor& cache) {
  return system.spawn<rollout>(std::ref(rank), shard, cache);
}

} // namespace troupe::actors
