// SPDX-License-Identifier: Apache-2.0
//
// A machine at run time: its state, its data, and the one function that moves
// it. The observer (journal and card) hears of a move before the state is set,
// so that a decision is written before it acts. Effects that are messages are
// the caller's: it finds them in the row that was taken.
//
// Thread: that of the owning actor only. Nothing blocks, unless the observer
// does.
#pragma once

#include "protocols/failure.hpp"
#include "protocols/machine.hpp"

#include <deque>
#include <functional>
#include <string>
#include <utility>

namespace troupe::protocols {

/// A move that is about to happen. A row that stays in its state is one, too
/// (from == to).
struct transition {
  std::string_view machine;
  std::string_view subject; ///< which one, as in "rollout/dp=0"
  std::string_view from;
  std::string_view to;
  std::string_view event;
  std::string_view why;
};

using transition_observer = std::function<void(const transition&)>;

template <class M>
class machine_instance {
public:
  using state_type = typename M::state;
  using event_type = typename M::event;
  using data_type = typename M::data;

  /// Events that wait for another state; one more is a failure.
  static constexpr std::size_t max_deferred = 16;

  explicit machine_instance(std::string subject,
                            transition_observer observer = {},
                            data_type data = {})
    : data_(data), subject_(std::move(subject)),
      observer_(std::move(observer)) {}

  [[nodiscard]] state_type state() const noexcept { return state_; }
  [[nodiscard]] const data_type& data() const noexcept { return data_; }
  [[nodiscard]] const std::string& subject() const noexcept { return subject_; }
  [[nodiscard]] std::size_t num_deferred() const { return deferred_.size(); }
  [[nodiscard]] bool is_terminal() const { return M::is_terminal(state_); }

  /// For the facts that guards read and no effect updates, such as the ledger's
  /// answer. The machine says which they are.
  data_type& facts() noexcept { return data_; }

  /// Asks the table and moves. A deferred event is kept, an ignored one is
  /// dropped; neither is told to the observer.
  /// Errors: refused_by_state when the table rejects the event, or when too
  /// many are deferred; state and data are as before.
  outcome<M> apply(event_type event) {
    TROUPE_ASSERT(!is_applying_, "apply() called from its own observer");
    const auto out = step<M>(state_, data_, event);
    switch (out.what) {
    case verdict::move: move(*out.taken); break;
    case verdict::defer: defer(event, out.why); break;
    case verdict::ignore: break;
    default: refuse(event, out.why);
    }
    return out;
  }

  /// Returns the outcome that apply() would have, without any change.
  [[nodiscard]] outcome<M> peek(event_type event) const {
    return step<M>(state_, data_, event);
  }

  /// Applies the oldest deferred event that this state does not defer again,
  /// and calls `done(event, outcome)`. Returns false if there was none. To be
  /// called until then after each change of state. A rejected one is removed,
  /// then thrown as by apply().
  template <class F>
  bool apply_deferred(F&& done) {
    for (auto it = deferred_.begin(); it != deferred_.end(); ++it) {
      const auto event = *it;
      if (peek(event).what == verdict::defer)
        continue;
      deferred_.erase(it);
      done(event, apply(event));
      return true;
    }
    return false;
  }

private:
  void move(const row<M>& taken) {
    if (observer_) {
      is_applying_ = true;
      try {
        observer_({M::name, subject_, to_string(taken.from),
                   to_string(taken.to), to_string(taken.event), taken.why});
      } catch (...) {
        is_applying_ = false;
        throw;
      }
      is_applying_ = false;
    }
    update<M>(taken, data_);
    state_ = taken.to;
  }

  void defer(event_type event, std::string_view why) {
    if (deferred_.size() >= max_deferred)
      refuse(event, std::to_string(max_deferred)
                      + " events are deferred already, each "
                      + std::string{why});
    deferred_.push_back(event);
  }

  [[noreturn]] void refuse(event_type event, std::string_view why) const {
    throw failure(errc::refused_by_state,
                  std::string{M::name} + " '" + subject_ + "' in state '"
                    + std::string{to_string(state_)} + "' refuses '"
                    + std::string{to_string(event)} + "': " + std::string{why});
  }

  state_type state_ = M::initial;
  data_type data_;
  std::string subject_;
  transition_observer observer_;
  std::deque<event_type> deferred_;
  bool is_applying_ = false;
};

} // namespace troupe::protocols
