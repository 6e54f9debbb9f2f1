// SPDX-License-Identifier: Apache-2.0
//
// The typed interface of each actor: which requests it answers with what. Who
// sends what to whom is the table in docs/architecture.md. `continuation` is an
// actor's own work coming back to it. Each message and each reply has an
// envelope.
#pragma once

#include "protocols/message_types.hpp"

#include <caf/typed_actor.hpp>

namespace troupe::protocols {

template <class Request, class Reply>
using answers =
  typename caf::replies_to<Request, envelope>::template with<Reply, envelope>;
template <class Event>
using hears = typename caf::replies_to<Event, envelope>::template with<void>;

using rank_supervisor_actor =
  caf::typed_actor<answers<place, placed>, answers<close_gate, gate_closed>,
                   answers<run_to, fenced>, answers<release, released>,
                   answers<stop, stopped>, answers<abort_rank, rank_aborted>,
                   answers<reserve, granted>, answers<give_up, given_up>,
                   hears<continuation>>;

using rollout_actor = caf::typed_actor<
  answers<generate, groups_generated>, answers<consume, consumed>,
  answers<weights_changed, acknowledged>, answers<weights_torn, acknowledged>,
  answers<drain, drained>, answers<release, released>, hears<continuation>>;

using cache_owner_actor = caf::typed_actor<
  answers<lease, leased>, answers<give_back, gave_back>, answers<park, parked>,
  answers<release_cache, cache_released>, answers<retake, retaken>,
  answers<close_cache, cache_closed>, hears<continuation>>;

using trainer_actor =
  caf::typed_actor<answers<train, trained>, answers<train_supervised, trained>,
                   answers<score, scored>, hears<continuation>>;

using parameter_shard_actor = caf::typed_actor<
  answers<take_view, view_taken>, answers<return_view, view_returned>,
  answers<begin_update, may_update>, answers<end_update, updated>,
  answers<write_checkpoint, checkpoint_written>,
  answers<export_model, model_exported>, answers<know_rollout, acknowledged>,
  hears<continuation>>;

using prompt_source_actor =
  caf::typed_actor<answers<take_prompts, prompts_taken>,
                   answers<tell_position, data_position>, answers<seek, sought>,
                   hears<continuation>>;

using experience_index_actor =
  caf::typed_actor<answers<move_groups, groups_moved>, hears<continuation>>;

using reward_pool_actor =
  caf::typed_actor<answers<grade, graded>, hears<continuation>>;

using checkpoint_index_actor =
  caf::typed_actor<answers<save, saved>, hears<continuation>>;

using host_agent_actor =
  caf::typed_actor<answers<start_process, process_started>,
                   answers<stop, stopped>, hears<continuation>>;

using coordinator_actor =
  caf::typed_actor<answers<join, joined>, answers<open_job, job_opened>,
                   answers<close_job, job_closed>, hears<process_exited>,
                   hears<signalled>, hears<know_address>, hears<continuation>>;

} // namespace troupe::protocols
