// SPDX-License-Identifier: Apache-2.0
//
// Serialisation and type ids of the messages: one block, the same in every
// binary (CAF 0.17; with 1.x only TROUPE_FIELDS changes).
#pragma once

#include "protocols/messages.hpp"

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/meta/type_name.hpp>
#include <caf/type_id.hpp>

#include <functional>
#include <memory>
#include <string_view>

/// Lists all fields of a message: one that is left out does not compile.
#define TROUPE_FIELDS(type, ...)                                               \
  template <class Inspector>                                                   \
  auto inspect(Inspector& f, type& x) {                                        \
    auto& [__VA_ARGS__] = x;                                                   \
    return f(caf::meta::type_name(#type), __VA_ARGS__);                        \
  }

#define TROUPE_NO_FIELDS(type)                                                 \
  template <class Inspector>                                                   \
  auto inspect(Inspector& f, type&) {                                          \
    return f(caf::meta::type_name(#type));                                     \
  }

namespace troupe::protocols {

template <class Inspector>
auto inspect(Inspector& f, real& x) {
  return f(x.bits);
}

template <class Inspector>
auto inspect(Inspector& f, group_id& x) {
  return f(x.data_pass, x.position, x.attempt);
}

TROUPE_FIELDS(header, request_id, epoch)
TROUPE_FIELDS(envelope, from, cause)
TROUPE_FIELDS(metric, key, value)
TROUPE_FIELDS(failed, code, text, causes)
TROUPE_FIELDS(join, process, pid, incarnation, build, supervisor)
TROUPE_FIELDS(joined, epoch)
TROUPE_FIELDS(place, head, resume_from)
TROUPE_FIELDS(placed, rollout, trainer, shard, num_parameters, version)
TROUPE_FIELDS(drain, head)
TROUPE_FIELDS(drained, num_aborted_groups)
TROUPE_FIELDS(close_gate, head)
TROUPE_FIELDS(gate_closed, last_started_unit)
TROUPE_FIELDS(run_to, head, fence)
TROUPE_FIELDS(fenced, last_completed_unit)
TROUPE_FIELDS(release, head)
TROUPE_FIELDS(released, num_live_graphs, cache_bytes)
TROUPE_FIELDS(stop, head)
TROUPE_FIELDS(stopped, num_actors)
TROUPE_FIELDS(abort_rank, head)
TROUPE_NO_FIELDS(rank_aborted)
TROUPE_FIELDS(reserve, head, holder, purpose, bytes, replaces)
TROUPE_FIELDS(granted, grant_id)
TROUPE_FIELDS(give_up, head, grant_id)
TROUPE_FIELDS(given_up, bytes)
TROUPE_FIELDS(sampling, temperature, top_p, top_k, max_new_tokens,
              min_new_tokens, stop_token_ids)
TROUPE_FIELDS(group_summary, id, num_prompt_tokens, num_tokens, finish_reasons,
              min_version, max_version)
TROUPE_FIELDS(generate, head, ids, num_samples, split, settings)
TROUPE_FIELDS(groups_generated, groups)
TROUPE_FIELDS(consume, head, ids)
TROUPE_FIELDS(consumed, num_groups)
TROUPE_FIELDS(weights_changed, version, layout_generation)
TROUPE_FIELDS(weights_torn, version)
TROUPE_FIELDS(acknowledged, version)
TROUPE_FIELDS(lease, head, bytes)
TROUPE_FIELDS(leased, address, bytes, generation)
TROUPE_FIELDS(give_back, head)
TROUPE_NO_FIELDS(gave_back)
TROUPE_FIELDS(park, head)
TROUPE_NO_FIELDS(parked)
TROUPE_FIELDS(release_cache, head)
TROUPE_FIELDS(cache_released, bytes)
TROUPE_FIELDS(retake, head)
TROUPE_FIELDS(retaken, bytes, generation)
TROUPE_FIELDS(close_cache, head)
TROUPE_FIELDS(cache_closed, bytes)
TROUPE_FIELDS(train, head, step, ids, advantages, minibatch, learning_rate,
              version)
TROUPE_FIELDS(score, head, ids)
TROUPE_FIELDS(scored, divergences)
TROUPE_FIELDS(train_supervised, head, step, stage, ids, learning_rate, version)
TROUPE_FIELDS(trained, version, metrics, skipped)
TROUPE_FIELDS(take_view, head)
TROUPE_FIELDS(view_taken, version, layout_generation)
TROUPE_FIELDS(return_view, head)
TROUPE_NO_FIELDS(view_returned)
TROUPE_FIELDS(know_rollout, rollout)
TROUPE_FIELDS(begin_update, head)
TROUPE_FIELDS(may_update, version)
TROUPE_FIELDS(end_update, head, outcome)
TROUPE_FIELDS(updated, version, layout_generation)
TROUPE_FIELDS(write_checkpoint, head, folder)
TROUPE_FIELDS(checkpoint_written, files, version)
TROUPE_FIELDS(export_model, head, folder)
TROUPE_FIELDS(model_exported, bytes)
TROUPE_FIELDS(take_prompts, head, split, num_prompts)
TROUPE_FIELDS(prompts_taken, ids)
TROUPE_FIELDS(tell_position, head)
TROUPE_FIELDS(data_position, data_pass, position)
TROUPE_FIELDS(seek, head, to)
TROUPE_NO_FIELDS(sought)
TROUPE_FIELDS(move_groups, head, ids, event, version)
TROUPE_FIELDS(groups_moved, num_live)
TROUPE_FIELDS(grade, head, ids, split)
TROUPE_FIELDS(graded_group, id, rewards)
TROUPE_FIELDS(graded, groups, num_failed, errors)
TROUPE_FIELDS(save, head, step, loop_state)
TROUPE_FIELDS(saved, step, folder)
TROUPE_FIELDS(open_job, head)
TROUPE_FIELDS(job_opened, rollout, trainer, shard, prompts, experience, rewards,
              checkpoints, epoch, rank_pid, num_parameters, version, loop_state)
TROUPE_FIELDS(close_job, head, why)
TROUPE_FIELDS(job_closed, fault)
TROUPE_FIELDS(process_exited, process, pid, status)
TROUPE_FIELDS(signalled, number, count)
TROUPE_FIELDS(start_process, head, process, address)
TROUPE_FIELDS(process_started, pid)
TROUPE_FIELDS(know_address, address)

/// Work that comes back to an actor from the compute queue or an I/O thread;
/// never leaves the process.
struct continuation {
  std::string_view name;
  std::shared_ptr<std::function<void()>> run;
};

} // namespace troupe::protocols

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::protocols::continuation)

CAF_BEGIN_TYPE_ID_BLOCK(troupe, caf::first_custom_type_id)
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::real))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::header))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::envelope))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::metric))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::failed))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::join))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::joined))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::place))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::placed))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::drain))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::drained))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::close_gate))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::gate_closed))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::run_to))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::fenced))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::release))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::released))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::stop))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::stopped))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::abort_rank))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::rank_aborted))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::reserve))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::granted))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::give_up))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::given_up))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::sampling))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::group_summary))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::generate))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::groups_generated))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::consume))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::consumed))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::weights_changed))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::weights_torn))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::acknowledged))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::lease))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::leased))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::give_back))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::gave_back))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::park))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::parked))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::release_cache))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::cache_released))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::retake))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::retaken))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::close_cache))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::cache_closed))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::train))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::score))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::scored))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::train_supervised))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::trained))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::take_view))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::view_taken))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::return_view))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::view_returned))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::know_rollout))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::begin_update))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::may_update))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::end_update))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::updated))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::write_checkpoint))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::checkpoint_written))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::export_model))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::model_exported))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::take_prompts))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::prompts_taken))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::tell_position))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::data_position))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::seek))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::sought))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::move_groups))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::groups_moved))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::grade))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::graded_group))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::graded))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::save))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::saved))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::open_job))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::job_opened))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::close_job))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::job_closed))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::process_exited))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::signalled))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::start_process))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::process_started))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::know_address))
  CAF_ADD_TYPE_ID(troupe, (troupe::protocols::group_id))
CAF_END_TYPE_ID_BLOCK(troupe)
