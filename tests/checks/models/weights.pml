/* SPDX-License-Identifier: Apache-2.0 */
/* Weights x rollout x cache. The three tables are generated; what is written
   here is the world around them: a trainer whose step may fail, a publication
   that may break off, a ledger that may refuse, somebody who wants the cache's
   memory, and a loop that generates, pauses, drains and stops.
   Invariants: rule 6 (nothing is generated from torn or half written weights),
   no step while a view is out, no memory taken from under a lease, and at the
   end every view and every lease is back.
   -DMEMORY: with whoever wants the cache's memory, else with a publication. */
mtype:notes = { changed, torn, yes, no } /* what the shard tells the rollout */
#define from_nobody 0
#define from_rollout 1
#define from_trainer 2
#define from_publisher 3

bool is_refused, is_telling, is_returning;

#define do_weights_answer_refused(who) is_refused = true;
#define do_weights_tell_rollouts(who) is_telling = true;
#define do_cache_answer_refused(who) is_refused = true;
#define do_cache_free_all(who) assert(cache_num_leases[0] == 0);
#define do_cache_unmap_pages(who) assert(cache_num_leases[0] == 0);
#define do_cache_grow(who) assert(cache_num_leases[0] == 1);
#define do_rollout_return_view(who) is_returning = true;
#include "machines.pml"

chan to_shard = [2] of { mtype:weights_events, byte };
chan to_cache = [2] of { mtype:cache_events, byte };
chan to_rollout = [1] of { mtype:rollout_events };
chan from_shard = [4] of { mtype:notes }; /* answers and notices in one order */
chan from_cache = [1] of { bool };
chan answer[4] = [1] of { bool };

proctype shard() {
  mtype:weights_events event;
  byte who;
  bool is_granted;
end:
  do
  :: atomic {
       to_shard?event, who;
       apply_weights(0, event);
       is_granted = (outcome_ == move_ && !is_refused);
       is_refused = false;
       assert(weights_state[0] != weights_in_training ||
              weights_num_views[0] == 0);
       if
       :: is_telling && weights_state[0] == weights_in_torn -> from_shard!torn
       :: is_telling && weights_state[0] != weights_in_torn ->
          from_shard!changed
       :: else
       fi;
       is_telling = false;
       if
       :: who == from_rollout && is_granted -> from_shard!yes
       :: who == from_rollout && !is_granted -> from_shard!no
       :: who > from_rollout -> answer[who]!is_granted
       :: else
       fi;
       event = 0; who = 0; is_granted = false
     }
  od
}

proctype cache_owner() {
  mtype:cache_events event;
  byte who;
end:
  do
  :: atomic {
       to_cache?event, who;
       if :: cache_is_granted[0] = 0 :: cache_is_granted[0] = 1 fi;
       if :: cache_is_larger[0] = 0 :: cache_is_larger[0] = 1 fi;
       apply_cache(0, event);
       if
       :: who == from_rollout -> from_cache!(outcome_ == move_ && !is_refused)
       :: else
       fi;
       is_refused = false; cache_is_granted[0] = 0; cache_is_larger[0] = 0;
       event = 0; who = 0
     }
  od
}

#define ask(event, who) to_shard!event, who; answer[who]?is_granted

/* What is torn is loaded by whoever tore it, until that is accepted. */
inline load(who) {
  do
  :: ask(weights_on_version_loaded, who);
     if :: is_granted -> break :: else fi
  od
}

proctype trainer() {
  bool is_granted;
  ask(weights_on_update_requested, from_trainer);
  if
  :: is_granted ->
     if
     :: ask(weights_on_update_finished, from_trainer)
     :: ask(weights_on_update_skipped, from_trainer)
     :: ask(weights_on_update_failed, from_trainer); load(from_trainer)
     fi
  :: else
  fi
}

proctype publisher() {
  bool is_granted;
  ask(weights_on_publish_announced, from_publisher);
  if
  :: is_granted ->
     if /* the peer may be lost before, after, or in the midst of the copy */
     :: ask(weights_on_publish_aborted, from_publisher)
     :: ask(weights_on_commit_began, from_publisher);
        if
        :: is_granted -> ask(weights_on_publish_committed, from_publisher)
        :: ask(weights_on_publish_aborted, from_publisher);
           if
           :: weights_state[0] == weights_in_torn -> load(from_publisher)
           :: else
           fi
        fi
     fi
  :: else
  fi
}

proctype memory() {
  if
  :: to_cache!cache_on_release_requested, from_nobody
  :: to_cache!cache_on_park_requested, from_nobody
  fi;
  to_cache!cache_on_retake_requested, from_nobody
}

proctype loop() {
  to_rollout!rollout_on_generate_requested;
  if
  :: to_rollout!rollout_on_pause_requested;
     to_rollout!rollout_on_generate_requested;
     to_rollout!rollout_on_resume_requested
  :: to_rollout!rollout_on_generate_requested
  fi;
  if :: to_rollout!rollout_on_drain_requested :: skip fi;
  to_rollout!rollout_on_stop_requested
}

#define has_view (rollout_num_groups[0] > 0 && \
  (rollout_state[0] == rollout_in_generating || \
   rollout_state[0] == rollout_in_draining))
#define needs_view(event) ((event == rollout_on_generate_requested && \
  rollout_state[0] == rollout_in_ready) || \
  (event == rollout_on_resume_requested && \
   rollout_state[0] == rollout_in_paused && rollout_num_groups[0] > 0))

/* While it waits for a view it takes no request, but does take notices: they
   were sent before the answer. Whether the view is still needed is asked again
   when it has come. */
proctype rollout() {
  mtype:rollout_events event, wanted;
  mtype:notes note;
  bool is_granted, is_closed;
end:
  do
  :: atomic {
       if
       :: wanted == 0 && nempty(to_rollout) ->
          to_rollout?event;
          if
          :: needs_view(event) -> wanted = event;
             to_shard!weights_on_view_requested, from_rollout; goto next
          :: else
          fi
       :: nempty(from_shard) ->
          from_shard?note;
          if
          :: note == changed -> event = rollout_on_weights_changed
          :: note == torn -> event = rollout_on_weights_torn
          :: note == no -> wanted = 0; goto next
          :: note == yes ->
             to_cache!cache_on_lease_requested, from_rollout;
             from_cache?is_granted;
             event = wanted; wanted = 0;
             if
             :: !is_granted -> to_shard!weights_on_view_returned, from_nobody;
                goto next
             :: is_granted && !needs_view(event) ->
                to_shard!weights_on_view_returned, from_nobody;
                to_cache!cache_on_lease_returned, from_nobody
             :: else
             fi
          fi
       :: has_view && wanted == 0 -> /* a quantum, and a group is complete */
          assert(weights_num_views[0] > 0 && cache_num_leases[0] > 0);
          assert(cache_state[0] == cache_in_held);
          assert(weights_state[0] == weights_in_inference ||
                 (weights_state[0] == weights_in_publishing &&
                  !weights_is_written[0]));
          event = rollout_on_group_finished
       :: rollout_state[0] == rollout_in_stopped && !is_closed &&
          empty(to_shard) && empty(to_cache) ->
          is_closed = true;
          assert(weights_num_views[0] == 0 && cache_num_leases[0] == 0);
          to_cache!cache_on_close_requested, from_nobody; goto next
       fi;
       apply_rollout(0, event);
       assert(outcome_ != defer_); /* nothing has to be taken up later */
       assert(outcome_ != reject_ || event != rollout_on_weights_changed);
       if
       :: is_returning -> is_returning = false;
          to_shard!weights_on_view_returned, from_nobody;
          to_cache!cache_on_lease_returned, from_nobody
       :: else
       fi;
next:  event = 0; note = 0; is_granted = false
     }
  od
}

init {
  atomic {
    if :: cache_can_keep_addresses[0] = 0 :: cache_can_keep_addresses[0] = 1 fi;
    from_shard!changed;
    run shard(); run cache_owner(); run rollout(); run trainer(); run loop();
#ifdef MEMORY
    run memory()
#else
    run publisher()
#endif
  }
}
