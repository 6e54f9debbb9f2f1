// SPDX-License-Identifier: Apache-2.0
#include "actors/parameter_shard.hpp"

#include "protocols/weights_machine.hpp"

#include <filesystem>

namespace troupe::actors {

namespace {

using namespace protocols;
using runtime::config::deadline;
using event = weights_machine::event;
using effect = weights_machine::effect;

class parameter_shard : public actor_base<parameter_shard_actor> {
public:
  parameter_shard(caf::actor_config& config, rank_context& rank)
    : actor_base(config, rank.process,
                 {"parameter_shard/dp=0/tp=0", "parameter_shard",
                  "rank_supervisor/dp=0/tp=0"}),
      rank_(rank), machine_(make_machine<weights_machine>(identity_.name)),
      version_(rank.model->version) {
    card_.set_progress({}, version_);
  }

  behavior_type make_behavior() override {
    machine_.apply(event::version_loaded);
    started();
    return {on(&parameter_shard::on_take_view),
            on(&parameter_shard::on_return_view),
            on(&parameter_shard::on_begin_update),
            on(&parameter_shard::on_end_update),
            on(&parameter_shard::on_write),
            on(&parameter_shard::on_export),
            on(&parameter_shard::on_rollout),
            on_continuation()};
  }

private:
  void require_whole(const char* what) const {
    if (machine_.state() == weights_machine::state::torn)
      throw failure(errc::weights_torn,
                    identity_.name + " refuses " + what
                      + ": an update broke off after version "
                      + std::to_string(version_)
                      + "; resume from the newest checkpoint");
  }

  caf::result<view_taken> on_take_view(take_view&) {
    require_whole("a view");
    machine_.apply(event::view_requested);
    return view_taken{version_, layout_generation_};
  }

  caf::result<view_returned> on_return_view(return_view&) {
    machine_.apply(event::view_returned);
    return view_returned{};
  }

  caf::result<may_update> on_begin_update(begin_update&) {
    require_whole("an update");
    const auto out = machine_.apply(event::update_requested);
    if (out.taken->effects[0] == effect::answer_refused)
      throw failure(errc::refused_by_state,
                    identity_.name + " refuses an update: "
                      + std::to_string(machine_.data().num_views)
                      + " view of version " + std::to_string(version_)
                      + " is out (rollout/dp=0/tp=0)");
    return may_update{version_};
  }

  caf::result<updated> on_end_update(end_update& update) {
    const auto outcome = static_cast<update_outcome>(update.outcome);
    machine_.apply(outcome == update_outcome::changed   ? event::update_finished
                   : outcome == update_outcome::skipped ? event::update_skipped
                                                        : event::update_failed);
    if (outcome == update_outcome::changed)
      card_.set_progress({}, ++version_);
    if (outcome == update_outcome::skipped || !rollout_)
      return updated{version_, layout_generation_};
    // The rollout's derived data are current, or it serves nothing, before
    // anyone hears of the version.
    if (outcome == update_outcome::failed)
      return tell_rollout(weights_torn{version_});
    return tell_rollout(weights_changed{version_, layout_generation_});
  }

  template <class News>
  caf::result<updated> tell_rollout(News news) {
    auto answer = open<updated>();
    ask<acknowledged>(
      rollout_, "rollout/dp=0/tp=0", std::move(news), deadline::control,
      [this, answer](acknowledged&) mutable {
        answer.answer({version_, layout_generation_});
      },
      answer.otherwise());
    return answer.result();
  }

  caf::result<checkpoint_written> on_write(write_checkpoint& request) {
    auto answer = open<checkpoint_written>();
    // The weights are read while no update runs: the loop saves between steps,
    // and an update that came now would be refused by the view.
    machine_.apply(event::view_requested);
    run_on(
      rank_.files, "write_checkpoint",
      [this, folder = request.folder] { return rank_.model->write(folder); },
      [this, answer](std::vector<std::string> files) mutable {
        machine_.apply(event::view_returned);
        answer.answer({std::move(files), version_});
      },
      returning_view(answer.otherwise()));
    return answer.result();
  }

  caf::result<model_exported> on_export(export_model& request) {
    auto answer = open<model_exported>();
    machine_.apply(event::view_requested);
    run_on(
      rank_.files, "export_model",
      [this, folder = request.folder] {
        rank_.model->export_to(folder);
        std::uint64_t bytes = 0;
        for (const auto& file : std::filesystem::directory_iterator{folder})
          bytes += file.file_size();
        return bytes;
      },
      [this, answer](std::uint64_t bytes) mutable {
        machine_.apply(event::view_returned);
        answer.answer({bytes});
      },
      returning_view(answer.otherwise()));
    return answer.result();
  }

  caf::result<acknowledged> on_rollout(know_rollout& who) {
    rollout_ = caf::actor_cast<rollout_actor>(who.rollout);
    auto answer = open<acknowledged>();
    ask<acknowledged>(
      rollout_, "rollout/dp=0/tp=0",
      weights_changed{version_, layout_generation_}, deadline::control,
      [answer](acknowledged& done_by) mutable { answer.answer(done_by); },
      answer.otherwise());
    return answer.result();
  }

  failure_handler returning_view(failure_handler otherwise) {
    return [this, otherwise](const failure& f) {
      machine_.apply(event::view_returned);
      otherwise(f);
    };
  }

  rank_context& rank_;
  machine_instance<weights_machine> machine_;
  policy_version version_;
  std::uint64_t layout_generation_ = 1;
  rollout_actor rollout_;
};

} // namespace

parameter_shard_actor spawn_parameter_shard(caf::actor_system& system,
                                            rank_context& rank) {
  return system.spawn<parameter_shard>(std::ref(rank));
}

} // namespace troupe::actors
