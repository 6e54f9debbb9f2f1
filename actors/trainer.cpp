// SPDX-License-Identifier: Apache-2.0
#include "actors/trainer.hpp"

#include "actors/fetch_rows.hpp"
#include "actors/real.hpp"
#include "runtime/train/packing.hpp"

namespace troupe::actors {

namespace {

using namespace protocols;
using runtime::config::deadline;
using runtime::experience::rollout_group;
using runtime::train::step_result;

std::vector<metric> to_metrics(const std::map<std::string, double>& values) {
  std::vector<metric> out;
  for (const auto& [key, value] : values)
    out.push_back({key, to_real(value)});
  return out;
}

class trainer : public actor_base<trainer_actor> {
public:
  trainer(caf::actor_config& config, rank_context& rank,
          parameter_shard_actor shard)
    : actor_base(config, rank.process,
                 {"trainer/dp=0/tp=0", "trainer", "rank_supervisor/dp=0/tp=0"}),
      rank_(rank), shard_(std::move(shard)) {}

  behavior_type make_behavior() override {
    started();
    return {on(&trainer::on_train), on(&trainer::on_train_supervised),
            on(&trainer::on_score), on_continuation()};
  }

private:
  using step_function = std::function<step_result()>;

  caf::result<trained> on_train(train& request) {
    std::vector<std::shared_ptr<const rollout_group>> groups;
    std::size_t num_samples = 0;
    for (const auto& id : request.ids) {
      groups.push_back(rank_.store.lease(id, request.head.epoch));
      num_samples += groups.back()->samples.size();
    }
    if (num_samples != request.advantages.size())
      throw failure(errc::invalid_request,
                    identity_.name + ": " + std::to_string(num_samples)
                      + " samples and "
                      + std::to_string(request.advantages.size())
                      + " advantages; one a sample is needed");
    std::vector<float> advantages;
    for (const auto& a : request.advantages)
      advantages.push_back(static_cast<float>(value_of(a)));
    auto answer = open<trained>();
    run_step(
      request.step, request.version, training_stage::main,
      [this, groups = std::move(groups), advantages = std::move(advantages),
       measures_gap = request.minibatch == 0,
       rate = value_of(request.learning_rate)] {
        return rank_.model->training().policy_step(groups, advantages,
                                                   measures_gap, rate);
      },
      answer);
    return answer.result();
  }

  caf::result<scored> on_score(score& request) {
    std::vector<std::shared_ptr<const rollout_group>> groups;
    for (const auto& id : request.ids)
      groups.push_back(rank_.store.lease(id, request.head.epoch));
    auto answer = open<scored>();
    run_on(
      rank_.compute, "score_groups",
      [this, groups = std::move(groups)] {
        return rank_.model->training().score_groups(groups);
      },
      [answer](const std::vector<float>& divergences) mutable {
        scored out;
        for (const float d : divergences)
          out.divergences.push_back(to_real(d));
        answer.answer(std::move(out));
      },
      answer.otherwise());
    return answer.result();
  }

  caf::result<trained> on_train_supervised(train_supervised& request) {
    auto answer = open<trained>();
    fetch_rows(rank_, {"train", request.ids},
               [this, self = address(), answer, request,
                around = seal()](fetched_rows got) {
                 auto shared = std::make_shared<fetched_rows>(std::move(got));
                 come_back(
                   self, "rows_fetched",
                   [this, answer, request, shared]() mutable {
                     if (shared->error)
                       answer.refuse(*shared->error);
                     else
                       train_rows(request, shared, answer);
                   },
                   around);
               });
    return answer.result();
  }

  void train_rows(const train_supervised& request,
                  std::shared_ptr<fetched_rows> rows,
                  open_request<trained> answer) {
    const auto stage = static_cast<training_stage>(request.stage);
    const auto& optimizer = stage == training_stage::warmup
                              ? rank_.config.sft_warmup.optimizer
                              : rank_.config.train.optimizer;
    run_step(
      request.step, request.version, stage,
      [this, rows = std::move(rows), &optimizer,
       rate = value_of(request.learning_rate)] {
        std::vector<runtime::train::sequence> sequences;
        for (const auto& row : rows->rows)
          sequences.push_back(
            {row.prompt_ids, row.samples.front().completion_ids});
        return rank_.model->training().supervised_step(sequences, optimizer,
                                                       rate);
      },
      answer);
  }

  /// begin_update, the step as one unit, end_update, answer.
  void run_step(std::uint64_t step, policy_version believed,
                training_stage stage, step_function work,
                open_request<trained> answer) {
    card_.set_progress(step, believed);
    ask<may_update>(
      shard_, "parameter_shard/dp=0/tp=0", begin_update{process_.make_header()},
      deadline::control,
      [this, believed, stage, work = std::move(work),
       answer](may_update& may) mutable {
        if (may.version != believed) {
          end_step({{},
                    "the caller believes in version " + std::to_string(believed)
                      + ", the weights are " + std::to_string(may.version)},
                   answer);
          return;
        }
        run_on(
          rank_.compute, "train_step",
          [this, stage, work = std::move(work)] {
            const runtime::process::unit_scope unit{rank_.gate};
            if (!unit)
              throw failure(errc::shutting_down,
                            "the gate is closed: no further step");
            rank_.model->enter_stage(static_cast<std::uint8_t>(stage));
            auto result = work();
            if (result.skipped.empty())
              ++rank_.model->version;
            return result;
          },
          [this, answer](step_result result) mutable {
            end_step(std::move(result), answer);
          },
          [this, answer](const failure& f) { fail_step(f, answer); });
      },
      answer.otherwise());
  }

  void end_step(step_result result, open_request<trained> answer) {
    ask<updated>(
      shard_, "parameter_shard/dp=0/tp=0",
      end_update{process_.make_header(),
                 static_cast<std::uint8_t>(result.skipped.empty()
                                             ? update_outcome::changed
                                             : update_outcome::skipped)},
      deadline::control,
      [this, result, answer](updated& u) mutable {
        card_.set_progress({}, u.version);
        answer.answer({u.version, to_metrics(result.metrics), result.skipped});
      },
      answer.otherwise());
  }

  /// The step threw: whether the weights were written is not known, unless
  /// the gate was closed before it began.
  void fail_step(const failure& why, open_request<trained> answer) {
    const auto outcome = why.code() == errc::shutting_down
                           ? update_outcome::skipped
                           : update_outcome::failed;
    ask<updated>(
      shard_, "parameter_shard/dp=0/tp=0",
      end_update{process_.make_header(), static_cast<std::uint8_t>(outcome)},
      deadline::control,
      [why, answer](updated&) mutable { answer.refuse(why); },
      answer.otherwise());
  }

  rank_context& rank_;
  parameter_shard_actor shard_;
};

} // namespace

trainer_actor spawn_trainer(caf::actor_system& system, rank_context& rank,
                            const parameter_shard_actor& shard) {
  return system.spawn<trainer>(std::ref(rank), shard);
}

} // namespace troupe::actors
