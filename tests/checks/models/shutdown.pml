/* SPDX-License-Identifier: Apache-2.0 */
/* Shutdown x ranks. The tables of `shutdown` and `rank` are generated; what is
   written here is the world around them: compute queues that run units as
   collectives, control actors that answer, a coordinator that counts, one rank
   that may die or freeze at any time, an operator who may abort.
   Invariants: I1, I2, I3, I7, every run ends, and with every rank in a terminal
   state; a deadline expires only if somebody is to blame.
   -DCRASH: with a death; -DOPERATOR: with an abort; both take a minute. */
#define N_rank 2
#define K 1 /* units of the job: none, some or all ranks have started it */
#define me N_rank /* the coordinator's own place among the members */

byte launched[K];      /* ranks that take part in this unit's collectives */
byte last[N_rank];     /* last started unit, and whether the gate is closed: */
bool gate[N_rank];     /* one atomic word at run time */
byte completed[N_rank];
byte reported[N_rank];
byte fence;
bool is_told[N_rank], is_aborted[N_rank], is_dead[N_rank];
bool is_missing[N_rank + 1], is_lost[N_rank], is_gone[N_rank];
bool is_crash, is_impatient, is_operator, is_abort_begun;
bool is_announcing, is_aborting, is_killing;
byte j;

#define do_shutdown_announce_phase(who) is_announcing = true;
#define do_shutdown_begin_abort(who) is_aborting = true;
#define do_shutdown_kill_rest(who) is_killing = true;
#include "machines.pml"

chan to_rank[N_rank] = [2] of { mtype:shutdown_states };
chan to_coordinator = [5] of { byte, mtype:shutdown_states, bool };
mtype:shutdown_states before = shutdown_in_idle;

inline tell_all() {
  is_missing[me] = true;
  for (j : 0 .. N_rank - 1) {
    if
    :: !is_lost[j] && !is_gone[j] ->
       is_missing[j] = true; to_rank[j]!shutdown_state[0]
    :: else -> is_missing[j] = false
    fi
  }
}

inline announce() {
  assert(before - shutdown_state[0] == 1 || shutdown_state[0] - before == 1);
  before = shutdown_state[0]; /* I7: to the next phase only */
  if
  :: shutdown_state[0] == shutdown_in_s3 ->
     for (j : 0 .. N_rank - 1) {
       fence = (reported[j] > fence -> reported[j] : fence)
     }
  :: shutdown_state[0] == shutdown_in_s4 ->
     for (j : 0 .. N_rank - 1) { assert(completed[j] == fence) } /* I1 */
  :: shutdown_state[0] == shutdown_in_s5 ->
     for (j : 0 .. N_rank - 1) {
       assert(rank_state[j] == rank_in_released) /* I2 */
     }
  :: else
  fi;
  tell_all()
}

inline tell_abort() {
  assert(!is_abort_begun); /* I3 */
  is_abort_begun = true;
  tell_all()
}

/* The messages that the row asks for, after the state was set. */
inline perform_effects() {
  if
  :: is_announcing -> is_announcing = false; announce()
  :: is_aborting -> is_aborting = false; tell_abort()
  :: is_killing -> is_killing = false;
     for (j : 0 .. N_rank - 1) { is_dead[j] = true; is_lost[j] = true }
  :: else
  fi;
  j = 0
}

proctype compute(byte i) {
  byte k;
  {
    do
    :: atomic {
         k < K && !is_aborted[i] && (!gate[i] || (is_told[i] && k < fence)) ->
         assert(!rank_is_fenced[i]); /* I1 */
         launched[k]++; k++; last[i] = k
       };
       if
       :: launched[k - 1] == N_rank -> completed[i] = k
       :: is_aborted[i] -> break
       fi
    :: is_told[i] && k >= fence -> break
    :: is_aborted[i] -> break
    od
  } unless { is_dead[i] }
}

#define acked(phase) to_coordinator!i, phase, false

proctype control(byte i) {
  mtype:shutdown_states phase;
  mtype:rank_events event;
  {
    do
    :: atomic {
         if
         :: to_rank[i]?phase;
            if
            :: phase == shutdown_in_s2 -> event = rank_on_drain_requested
            :: phase == shutdown_in_s3 -> is_told[i] = true; goto next
            :: phase == shutdown_in_s4 -> event = rank_on_release_requested
            :: phase == shutdown_in_s8 -> event = rank_on_stop_requested
            :: phase == shutdown_in_aborting -> event = rank_on_abort_requested
            :: else -> goto answer
            fi
         :: is_told[i] && completed[i] >= fence &&
            rank_is_fenced[i] == 0 && rank_state[i] == rank_in_draining ->
            phase = shutdown_in_s3; event = rank_on_fence_reached
         fi;
         apply_rank(i, event);
         assert(outcome_ == move_ ||
                (outcome_ == ignore_ && rank_state[i] == rank_in_stopped));
         assert(event != rank_on_release_requested ||
                rank_state[i] == rank_in_released);
         if
         :: event == rank_on_drain_requested ->
            gate[i] = true; reported[i] = last[i]
         :: event == rank_on_abort_requested -> is_aborted[i] = true
         :: else
         fi;
         event = 0
       };
answer:
       acked(phase);
       if
       :: phase == shutdown_in_s9 || phase == shutdown_in_aborting -> break
       :: else
       fi;
next:  phase = 0
    od
  } unless { is_dead[i] }
}

proctype coordinator() {
  byte who;
  mtype:shutdown_states phase;
  mtype:shutdown_events event;
  bool is_loss;
  do
  :: shutdown_state[0] == shutdown_in_done -> break
  :: atomic {
       shutdown_state[0] != shutdown_in_done;
       if
       :: shutdown_state[0] == shutdown_in_idle ->
          event = shutdown_on_shutdown_requested
       :: !is_missing[me] && is_impatient && !is_operator ->
          is_operator = true;
          event = shutdown_on_abort_requested
       :: is_missing[me] -> is_missing[me] = false;
          event = shutdown_on_phase_acked
       :: !is_missing[me] && nempty(to_coordinator) ->
          to_coordinator?who, phase, is_loss;
          if
          :: is_loss -> is_lost[who] = true; shutdown_num_members[0]--;
             event = shutdown_on_peer_lost
          :: else -> event = shutdown_on_phase_acked
          fi;
          if /* an end in order: whatever comes next does not wait for it */
          :: phase == shutdown_in_s9 && !is_loss ->
             is_gone[who] = true; shutdown_num_members[0]--
          :: else
          fi;
          if /* what the owner filters: see shutdown_machine.hpp */
          :: is_loss && shutdown_state[0] != shutdown_in_aborting
          :: (is_loss || phase == shutdown_state[0] ||
              phase == shutdown_in_s9) && is_missing[who]
          :: else -> goto next
          fi;
          is_missing[who] = false
       :: timeout -> assert(is_crash); /* nobody else may keep us waiting */
          event = shutdown_on_deadline_expired
       fi;
       apply_shutdown(0, event);
       perform_effects();
next:  who = 0; phase = 0; event = 0; is_loss = false
     }
  od;
  for (who : 0 .. N_rank - 1) {
    assert(is_lost[who] || rank_state[who] == rank_in_stopped);
    assert(is_crash || is_operator || completed[who] == fence)
  }
  assert(is_abort_begun || before == shutdown_in_s9)
}

/* A death is reported, by pidfd or connection; a frozen process is silent. */
proctype killer() {
  byte v;
  select(v : 0 .. N_rank - 1);
  if
  :: atomic { rank_state[v] != rank_in_stopped ->
       is_crash = true; is_dead[v] = true;
       if
       :: to_coordinator!v, shutdown_in_idle, true
       :: skip
       fi }
  :: skip
  fi
}

init {
  atomic {
    shutdown_num_members[0] = N_rank + 1;
#ifdef OPERATOR
    if :: is_impatient = true :: skip fi; /* else he never aborts */
#endif
    for (j : 0 .. N_rank - 1) {
      rank_state[j] = rank_in_ready;
      run compute(j); run control(j)
    }
    j = 0;
    run coordinator();
#ifdef CRASH
    run killer()
#endif
  }
}
