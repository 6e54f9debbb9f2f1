// SPDX-License-Identifier: Apache-2.0
//
// What actors say to each other. Requests are imperatives, replies participles.
// No message holds a float (CAF 0.17.6 corrupts them on the wire: `real` is a
// bit pattern), a tensor or a token batch: those move through shared storage or
// runtime/transport, and messages carry ids. At most 64 KiB each, enforced
// where they are sent (actors/actor_base.hpp). Every request may be answered by
// a caf::error that holds a `failed` (actors/failure_message.hpp).
#pragma once

#include "protocols/ids.hpp"

#include <caf/actor_control_block.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::protocols {

/// A real number as the bit pattern of its binary64 (actors/real.hpp).
struct real {
  std::uint64_t bits = 0;
};

/// Makes a request checkable. Every receiver refuses an older epoch than its
/// own (epoch_stale), and names the request by its number.
struct header {
  std::uint64_t request_id = 0;
  job_epoch epoch = 0;
};

/// Goes with every message: what the receiver's records name as their cause.
struct envelope {
  std::string from;  ///< the sender's name: "trainer/dp=0/tp=0"
  std::string cause; ///< the journal record behind it: "rank-0/17", or empty
};

struct metric {
  std::string key; ///< as in runtime/outputs/metric_keys.hpp
  real value;
};

/// A failure on its way: in the answer to a request, as the reason of an exit,
/// or within a message. At most max_failure_bytes (actors/failure_message.hpp).
struct failed {
  std::uint16_t code = 0; ///< errc; 0: none
  std::string text;
  std::vector<std::string> causes; ///< nearest first
};

// -- membership: rank supervisor <-> coordinator ------------------------------

/// Rank -> coordinator, first message. Safe to repeat. Reply: joined.
/// Errors: epoch_stale (no process of this job, or another incarnation of one
/// that has joined), unsupported (another build).
struct join {
  std::string process; ///< "rank-0"
  std::int32_t pid = 0;
  std::uint64_t incarnation = 0;
  std::string build; ///< protocols::build_name()
  caf::strong_actor_ptr supervisor;
};

struct joined {
  job_epoch epoch = 0;
};

/// Coordinator -> rank: load the model, make the actors. Reply: placed.
/// Errors: model_*, plugin_refused, checkpoint_*, memory_refused.
struct place {
  header head;
  std::string resume_from; ///< sealed checkpoint folder, or empty
};

struct placed {
  caf::strong_actor_ptr rollout, trainer, shard;
  std::uint64_t num_parameters = 0;
  policy_version version = 0;
};

/// Coordinator -> rollout, after the first Ctrl-C. Admission is closed, groups
/// that are being generated are aborted. Safe to repeat. Reply: nothing is in
/// flight any more.
struct drain {
  header head;
};
struct drained {
  std::uint32_t num_aborted_groups = 0;
};

/// Coordinator -> rank, S2. Reply: the last started unit.
struct close_gate {
  header head;
};
struct gate_closed {
  std::uint64_t last_started_unit = 0;
};

/// Coordinator -> rank, S3: complete the fence unit, start no later one.
struct run_to {
  header head;
  std::uint64_t fence = 0;
};
struct fenced {
  std::uint64_t last_completed_unit = 0;
};

/// Coordinator -> rank, S4: graphs, then caches. Reply when both are gone.
struct release {
  header head;
};
struct released {
  std::uint32_t num_live_graphs = 0;
  std::uint64_t cache_bytes = 0; ///< still held; 0
};

/// Coordinator -> rank, S9: end the actors in reverse order of spawning.
struct stop {
  header head;
};
struct stopped {
  std::uint32_t num_actors = 0; ///< ended here
};

/// Coordinator -> rank, when the ordered way down is given up: drop all, await
/// no unit, end. Safe to repeat.
struct abort_rank {
  header head;
};
struct rank_aborted {};

// -- memory: any actor of a rank -> rank supervisor ---------------------------

/// Errors: memory_refused (who holds what); what was replaced is as before.
struct reserve {
  header head;
  std::string holder, purpose;
  std::uint64_t bytes = 0;
  std::uint64_t replaces = 0; ///< a grant that ends with this one; 0: none
};
struct granted {
  std::uint64_t grant_id = 0;
};
struct give_up {
  header head;
  std::uint64_t grant_id = 0;
};
struct given_up {
  std::uint64_t bytes = 0;
};

// -- rollout ------------------------------------------------------------------

struct sampling {
  real temperature, top_p;
  std::uint32_t top_k = 0, max_new_tokens = 0, min_new_tokens = 0;
  std::vector<std::int32_t> stop_token_ids;
};

/// What the coordinator keeps of a group: everything but its columns.
struct group_summary {
  group_id id;
  std::uint32_t num_prompt_tokens = 0;
  std::vector<std::uint32_t> num_tokens;    ///< one a sample
  std::vector<std::uint8_t> finish_reasons; ///< experience::finish_reason
  policy_version min_version = 0, max_version = 0;
};

/// Coordinator -> rollout. The prompts are pulled over the transport. Not to be
/// repeated for a group that lives. Reply: groups_generated.
/// Errors: refused_by_state, weights_torn, capacity_exceeded, shutting_down.
struct generate {
  header head;
  std::vector<group_id> ids;
  std::uint32_t num_samples = 1;
  std::string split; ///< "train", or the name of an evaluation
  sampling settings;
};
struct groups_generated {
  std::vector<group_summary> groups; ///< in the order of the request
};

/// Coordinator -> rollout: the group's columns are no longer needed.
struct consume {
  header head;
  std::vector<group_id> ids;
};
struct consumed {
  std::uint32_t num_groups = 0;
};

/// Parameter shard -> rollout, after each update. Safe to repeat. Errors:
/// refused_by_state, while a view is out.
struct weights_changed {
  policy_version version = 0;
  std::uint64_t layout_generation = 0; ///< changed: derived data is stale
};
/// Parameter shard -> rollout: an update broke off. Nothing is generated until
/// the next weights_changed. Safe to repeat.
struct weights_torn {
  policy_version version = 0; ///< the last whole one
};
struct acknowledged {
  policy_version version = 0;
};

// -- cache owner --------------------------------------------------------------

/// Rollout -> cache owner. Errors: memory_refused (holder, bytes).
struct lease {
  header head;
  std::uint64_t bytes = 0;
};
struct leased {
  std::uint64_t address = 0; ///< within this process only
  std::uint64_t bytes = 0, generation = 0;
};
struct give_back {
  header head;
};
struct gave_back {};
/// Supervisor or coordinator -> cache owner. Parking is refused by name here:
/// this version's memory cannot keep its addresses without its pages.
struct park {
  header head;
};
struct parked {};
struct release_cache {
  header head;
};
struct cache_released {
  std::uint64_t bytes = 0; ///< freed by this request
};
struct retake {
  header head;
};
struct retaken {
  std::uint64_t bytes = 0, generation = 0;
};
struct close_cache {
  header head;
};
struct cache_closed {
  std::uint64_t bytes = 0;
};

/// Each stage has its own optimizer settings and moments.
enum class training_stage : std::uint8_t { warmup = 0, main = 1 };

// -- trainer and parameter shard ----------------------------------------------

/// Coordinator -> trainer: one optimizer step on these groups.
/// Errors: refused_by_state, nonfinite_loss, peer_gone (columns).
struct train {
  header head;
  std::uint64_t step = 0;
  std::vector<group_id> ids;
  std::vector<real> advantages; ///< samples of the groups, in order
  std::uint32_t minibatch = 0;  ///< 0: the weights are those of the rollout
  real learning_rate;
  policy_version version = 0; ///< that the caller believes in
};
/// Coordinator -> trainer: before the first update on these groups, keep what
/// later ones compare with. Safe to repeat.
struct score {
  header head;
  std::vector<group_id> ids;
};
struct scored {
  /// KL estimate to the reference, summed over a sample; samples of the groups,
  /// in order. Empty without a reference.
  std::vector<real> divergences;
};
/// Coordinator -> trainer: one supervised step on these rows.
struct train_supervised {
  header head;
  std::uint64_t step = 0;
  std::uint8_t stage = 0; ///< training_stage; a new one begins without moments
  std::vector<group_id> ids; ///< rows of the training data
  real learning_rate;
  policy_version version = 0;
};
struct trained {
  policy_version version = 0;
  std::vector<metric> metrics;
  std::string skipped; ///< why no update was made; empty: it was made
};

/// Rollout -> parameter shard: the weights are read from here on, and stay as
/// they are until the view is returned. Errors: refused_by_state.
struct take_view {
  header head;
};
struct view_taken {
  policy_version version = 0;
  std::uint64_t layout_generation = 0;
};
struct return_view {
  header head;
};
struct view_returned {};

/// Rank supervisor -> parameter shard, once: whom to tell of new versions.
/// Reply: acknowledged, when the rollout has the present one.
struct know_rollout {
  caf::strong_actor_ptr rollout;
};

/// Trainer -> parameter shard: no rollout reads the weights from here on.
struct begin_update {
  header head;
};
struct may_update {
  policy_version version = 0;
};
enum class update_outcome : std::uint8_t {
  changed = 0,
  skipped = 1, ///< nothing was written
  failed = 2,  ///< an error in the midst of the step: the weights are torn
};
/// Trainer -> parameter shard: the weights may be read again.
struct end_update {
  header head;
  std::uint8_t outcome = 0; ///< update_outcome
};
struct updated {
  policy_version version = 0;
  std::uint64_t layout_generation = 0;
};

/// Coordinator -> parameter shard: weights and optimizer into this folder.
/// Reply when the files are written and synced. Errors: io_failed.
struct write_checkpoint {
  header head;
  std::string folder;
};
struct checkpoint_written {
  std::vector<std::string> files;
  policy_version version = 0;
};
/// Coordinator -> parameter shard: a Hugging Face folder.
struct export_model {
  header head;
  std::string folder;
};
struct model_exported {
  std::uint64_t bytes = 0;
};

// -- actors of the coordinator's process --------------------------------------

/// Job -> prompt source. Reply: the next n rows of the split.
struct take_prompts {
  header head;
  std::string split; ///< "train" or "eval"
  std::uint32_t num_prompts = 0;
};
struct prompts_taken {
  std::vector<group_id> ids;
};
/// Job -> prompt source: where the training data stands; `seek` goes there.
struct tell_position {
  header head;
};
struct data_position {
  std::uint32_t data_pass = 0, position = 0;
};
struct seek {
  header head;
  data_position to;
};
struct sought {};

/// Job -> experience index: groups change state; those that end are freed in
/// the rollout's store. Reply: how many live. Errors: refused_by_state,
/// capacity_exceeded, invalid_request (older than may be trained on).
struct move_groups {
  header head;
  std::vector<group_id> ids;
  std::uint8_t event = 0;     ///< group_machine::event
  policy_version version = 0; ///< of the weights now
};
struct groups_moved {
  std::uint32_t num_live = 0;
};

/// Job -> reward pool. Errors: reward_failed when reward.on_error is stop.
struct grade {
  header head;
  std::vector<group_id> ids;
  std::string split;
};
struct graded_group {
  group_id id;
  std::vector<real> rewards; ///< one a sample
};
struct graded {
  std::vector<graded_group> groups;
  std::uint32_t num_failed = 0;
  std::vector<std::string> errors; ///< the first few; each names its group
};

/// Job -> checkpoint index: write, verify, seal; prune old ones.
struct save {
  header head;
  std::uint64_t step = 0;
  std::string loop_state; ///< JSON of the loop: what it needs to resume
};
struct saved {
  std::uint64_t step = 0;
  std::string folder;
};

// -- the job ------------------------------------------------------------------

/// Loop -> coordinator. Reply when the ranks are placed.
struct open_job {
  header head;
};
struct job_opened {
  caf::strong_actor_ptr rollout, trainer, shard;
  caf::strong_actor_ptr prompts, experience, rewards, checkpoints;
  job_epoch epoch = 0;
  std::int32_t rank_pid = 0;
  std::uint64_t num_parameters = 0;
  policy_version version = 0;
  std::string loop_state; ///< of the checkpoint resumed from, or empty
};
/// Loop -> coordinator: the loop has ended, well or not.
struct close_job {
  header head;
  failed why; ///< none: well
};
struct job_closed {
  failed fault; ///< of the teardown; none: clean
};

// -- processes ----------------------------------------------------------------

/// Main -> coordinator, from the launcher's events.
struct process_exited {
  std::string process;
  std::int32_t pid = 0;
  std::int32_t status = 0; ///< as of waitpid
};
struct signalled {
  std::int32_t number = 0, count = 0;
};
/// Coordinator -> host agent.
struct start_process {
  header head;
  std::string process; ///< "rank-0"
  std::string address; ///< where the coordinator listens: host:port
};
struct process_started {
  std::int32_t pid = 0;
};
/// Main -> coordinator, once: where ranks reach it (host:port).
struct know_address {
  std::string address;
};

} // namespace troupe::protocols
