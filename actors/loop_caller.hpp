// SPDX-License-Identifier: Apache-2.0
//
// How the loop's thread asks actors and waits. An actor of its own ("loop")
// does the asking: its card shows what the loop waits for, and its records of
// kind `script` are the root of all that follows from a command.
#pragma once

#include "actors/actor_base.hpp"
#include "actors/control_context.hpp"
#include "actors/job_link.hpp"

#include <caf/actor_system.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace troupe::actors {

using loop_actor = caf::typed_actor<protocols::hears<protocols::continuation>>;

/// Asks on behalf of the loop's thread.
class loop : public actor_base<loop_actor> {
public:
  loop(caf::actor_config& config, control_context& control)
    : actor_base(config, control.process, {"loop", "loop", "coordinator"}) {}

  behavior_type make_behavior() override {
    started();
    return {on_continuation()};
  }

  using actor_base::ask;

  /// What the loop's program wants.
  template <class Request>
  void record_command(const Request& request) {
    set_cause(cause_type::rule, "the loop's program");
    std::optional<std::uint64_t> step;
    if constexpr (requires { request.step; })
      step = request.step;
    record({.kind = "script",
            .subject = "loop",
            .event = message_name<Request>(),
            .step = step});
  }
};

/// Thread: the loop's. Answers that come after its end find the job's link and
/// nothing of this.
class loop_caller {
public:
  loop_caller(caf::actor_system& system, control_context& control,
              std::shared_ptr<job_link> link)
    : process_(control.process), link_(std::move(link)),
      handle_(system.spawn<loop>(std::ref(control))),
      asking_(
        dynamic_cast<loop*>(caf::actor_cast<caf::abstract_actor*>(handle_))) {}
  ~loop_caller() {
    caf::anon_send_exit(handle_, caf::exit_reason::user_shutdown);
  }
  loop_caller(const loop_caller&) = delete;
  loop_caller& operator=(const loop_caller&) = delete;

  /// Asks and waits for the reply, the deadline or the end of the job,
  /// whichever comes first. Errors: what was answered; how the job ended;
  /// deadline_exceeded.
  template <class Reply, class Target, class Request>
  Reply call(const Target& target, const char* who, Request request,
             runtime::config::deadline within) {
    return call<Reply>(target, who, std::move(request),
                       process_.patience(within));
  }

  /// With a deadline that depends on the work.
  template <class Reply, class Target, class Request>
  Reply call(const Target& target, const char* who, Request request,
             std::chrono::milliseconds within) {
    using protocols::failure;
    using runtime::config::deadline;
    if (const auto ended = link_->ended())
      throw failure(*ended);
    auto state = std::make_shared<pending<Reply>>();
    const auto until = std::chrono::steady_clock::now() + within
                       + process_.patience(deadline::answer_slack);
    auto ask = [asking = asking_, link = link_, target, who = std::string{who},
                request = std::move(request), within, state] {
      const auto fail = [link, state](const failure& f) {
        link->update([&] { state->error = f; });
      };
      try {
        asking->record_command(request);
        asking->template ask<Reply>(
          target, who, request, within,
          [link, state](Reply& r) {
            link->update([&] { state->reply = std::move(r); });
          },
          fail);
      } catch (const std::exception& e) {
        fail(to_failure(e));
      }
    };
    caf::anon_send(
      handle_,
      protocols::continuation{
        "call", std::make_shared<std::function<void()>>(std::move(ask))},
      protocols::envelope{});
    if (link_->wait_until(until,
                          [&] { return state->reply || state->error; })) {
      if (state->error)
        throw failure(*state->error);
      return std::move(*state->reply);
    }
    if (const auto ended = link_->ended())
      throw failure(*ended);
    throw failure(protocols::errc::deadline_exceeded,
                  std::string{who} + ": no answer to the loop");
  }

private:
  template <class Reply>
  struct pending {
    std::optional<Reply> reply;
    std::optional<protocols::failure> error;
  };

  process_context& process_;
  std::shared_ptr<job_link> link_;
  loop_actor handle_;
  loop* asking_; ///< lives as long as `handle_`
};

} // namespace troupe::actors
