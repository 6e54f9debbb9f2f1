// SPDX-License-Identifier: Apache-2.0
//
// What every actor of ours is made of: a card that is always true, a handler
// wrapper that stamps it and turns what is thrown into a typed error, requests
// with a deadline, work that goes to a queue and comes back as a message, and
// machines whose every move is journaled with its cause: the record behind the
// message that is handled, or the one before it in the same handler. Each
// message, reply and failure carries that reference in its envelope.
//
// Thread: handlers and continuations run in the actor; only the closures given
// to `run_on` run elsewhere.
#pragma once

#include "actors/failure_message.hpp"
#include "actors/message_size.hpp"
#include "actors/process_context.hpp"
#include "protocols/actor_machine.hpp"
#include "protocols/interfaces.hpp"
#include "protocols/machine_instance.hpp"
#include "runtime/process/work_queue.hpp"

#include <caf/scheduled_actor.hpp>
#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace troupe::actors {

struct actor_identity {
  std::string name;  ///< with coordinates: "rollout/dp=0/tp=0"
  std::string kind;  ///< "rollout"
  std::string owner; ///< the name of who spawned it
};

using runtime::journal::cause_type;

/// "train" of protocols::train.
template <class Message>
std::string message_name() {
  const std::string name{caf::type_name<Message>::value};
  return name.substr(name.rfind(':') + 1);
}

using failure_handler = std::function<void(const protocols::failure&)>;

template <class Handle>
class actor_base : public Handle::base {
public:
  using super = typename Handle::base;
  using behavior_type = typename super::behavior_type;

  actor_base(caf::actor_config& config, process_context& process,
             actor_identity identity)
    : super(config), process_(process), identity_(std::move(identity)),
      card_(
        process.cards->add(identity_.name, identity_.kind, identity_.owner)),
      because_{cause_type::rule, {}, "spawned by " + identity_.owner},
      life_(make_machine<protocols::actor_machine>(identity_.name)) {
    this->set_exception_handler([this](std::exception_ptr& thrown) {
      try {
        std::rethrow_exception(thrown);
      } catch (const std::exception& e) {
        return to_error(fail(to_failure(e)), seal());
      }
    });
  }

  void enqueue(caf::mailbox_element_ptr message,
               caf::execution_unit* unit) override {
    card_.count_in();
    super::enqueue(std::move(message), unit);
  }

  /// Every message passes here, also those without a handler of ours: exits,
  /// losses, answers that come too late.
  caf::invoke_message_result consume(caf::mailbox_element& message) override {
    card_.count_taken();
    because_ = cause_of(message.content());
    const auto result = super::consume(message);
    if (result == caf::invoke_message_result::skipped)
      card_.count_put_back();
    return result;
  }

  const char* name() const override { return identity_.name.c_str(); }

  void on_exit() override {
    using e = protocols::actor_machine::event;
    life_.apply(e::stop_requested);
    card_.close(protocols::to_string(life_.state()));
    super::on_exit();
  }

protected:
  // -- machines ---------------------------------------------------------------

  /// A machine that writes every move into the journal and the card before it
  /// is made.
  template <class M>
  protocols::machine_instance<M> make_machine(std::string subject) {
    return protocols::machine_instance<M>(
      std::move(subject), [this](const protocols::transition& move) {
        record({.kind = std::string{move.machine},
                .subject = std::string{move.subject},
                .from = std::string{move.from},
                .to = std::string{move.to},
                .event = std::string{move.event}},
               move.subject == identity_.name ? card_
                                              : runtime::inspect::card{});
      });
  }

  /// Writes a record with its cause. It is the cause of what follows in this
  /// handler and of the messages sent from here on.
  void record(runtime::journal::transition what,
              const runtime::inspect::card& shown_on = {}) {
    what.because = because_;
    what.job_epoch = process_.epoch.load();
    auto ref = process_.journal->record(std::move(what), shown_on);
    if (!ref.empty())
      because_ = {cause_type::rule, std::move(ref), "the same handler"};
  }

  /// Names what is behind this handler, where the message doesn't.
  void set_cause(cause_type type, std::string by) {
    because_ = {type, because_.ref, std::move(by)};
  }

  /// The envelope of what is sent now.
  [[nodiscard]] protocols::envelope seal() const {
    return {identity_.name, because_.ref};
  }

  /// To be called at the end of make_behavior: the actor can take requests.
  void started() {
    life_.apply(protocols::actor_machine::event::started);
    while (life_.apply_deferred([](auto, const auto&) {}))
      continue;
  }

  // -- handlers ---------------------------------------------------------------

  /// Wraps a member function that answers a request.
  template <class Self, class Reply, class Request>
  auto on(caf::result<Reply> (Self::*answer)(Request&)) {
    using protocols::envelope;
    return [this, answer](Request& request,
                          envelope& around) -> caf::result<Reply, envelope> {
      const handling scope{*this, message_name<Request>(), around};
      try {
        if constexpr (requires { request.head; })
          require_epoch(request.head, around);
        auto result = (static_cast<Self*>(this)->*answer)(request);
        if (result.flag == caf::rt_value) {
          auto& reply = result.value.template get_mutable_as<Reply>(0);
          count(reply);
          return {std::move(reply), seal()};
        }
        if (result.flag == caf::rt_error)
          return std::move(result.err);
        return caf::delegated<Reply, envelope>{};
      } catch (const std::exception& e) {
        return to_error(note(to_failure(e)), seal());
      }
    };
  }

  /// Wraps a member function that takes an event.
  template <class Self, class Event>
  auto on(void (Self::*take)(Event&)) {
    return [this, take](Event& event, protocols::envelope& around) {
      const handling scope{*this, message_name<Event>(), around};
      try {
        (static_cast<Self*>(this)->*take)(event);
      } catch (const std::exception& e) {
        note(to_failure(e));
      }
    };
  }

  /// The handler of continuations, part of every behavior.
  auto on_continuation() {
    return [this](protocols::continuation& c, protocols::envelope& around) {
      const handling scope{*this, std::string{c.name}, around};
      (*c.run)();
    };
  }

  /// A request that is answered later. While one is open the actor is busy.
  template <class Reply>
  class open_request {
  public:
    open_request(actor_base& self)
      : self_(&self),
        promise_(
          self.template make_response_promise<Reply, protocols::envelope>()) {
      self.life_.apply(protocols::actor_machine::event::request_accepted);
    }
    /// A reply that is too large is refused by name.
    void answer(Reply reply) {
      try {
        self_->count(reply);
      } catch (const protocols::failure& too_large) {
        refuse(too_large);
        return;
      }
      promise_.deliver(std::move(reply), self_->seal());
      self_->life_.apply(protocols::actor_machine::event::request_answered);
    }
    void refuse(const protocols::failure& why) {
      promise_.deliver(to_error(self_->note(why), self_->seal()));
      self_->life_.apply(protocols::actor_machine::event::request_answered);
    }
    [[nodiscard]] caf::result<Reply> result() const {
      return caf::delegated<Reply>{};
    }
    /// For the failure path of what was started for this request.
    [[nodiscard]] failure_handler otherwise() {
      return
        [copy = *this](const protocols::failure& f) mutable { copy.refuse(f); };
    }

  private:
    actor_base* self_;
    caf::typed_response_promise<Reply, protocols::envelope> promise_;
  };

  template <class Reply>
  open_request<Reply> open() {
    return open_request<Reply>(*this);
  }

  // -- requests ---------------------------------------------------------------

  /// Sends a request; exactly one of the two handlers runs, at the deadline at
  /// the latest. Errors: message_too_large is thrown.
  template <class Reply, class Target, class Request, class Then>
  void ask(const Target& target, const std::string& who, Request request,
           runtime::config::deadline within, Then then,
           failure_handler otherwise) {
    ask<Reply>(target, who, std::move(request), process_.patience(within),
               std::move(then), std::move(otherwise));
  }

  /// With a deadline that depends on the work.
  template <class Reply, class Target, class Request, class Then>
  void ask(const Target& target, const std::string& who, Request request,
           std::chrono::milliseconds patience, Then then,
           failure_handler otherwise) {
    count(request);
    const auto name = message_name<Request>();
    const auto asked = who + " was asked to " + name + " ("
                       + std::to_string(patience.count()) + " ms)";
    this->request(target, patience, std::move(request), seal())
      .then(
        [this, then = std::make_shared<Then>(std::move(then)), name,
         otherwise](Reply& reply, protocols::envelope& around) {
          const handling scope{*this, name, around};
          try {
            (*then)(reply);
          } catch (const std::exception& e) {
            otherwise(note(to_failure(e)));
          }
        },
        [this, otherwise, name, asked, sent = seal()](caf::error& e) {
          const auto what = to_failure(e, asked);
          auto around = envelope_of(e);
          const bool is_silent = around.from.empty();
          const handling scope{*this, name, is_silent ? sent : around};
          if (is_silent)
            set_cause(what.code() == protocols::errc::deadline_exceeded
                        ? cause_type::timeout
                        : cause_type::down,
                      asked);
          otherwise(what);
        });
  }

  /// Sends an event or a request whose answer does not matter.
  template <class Target, class Message>
  void tell(const Target& target, Message message) {
    count(message);
    caf::anon_send(target, std::move(message), seal());
  }

  // -- work elsewhere ---------------------------------------------------------

  /// Runs `work` on a queue's thread and `then(result)` back in the actor.
  /// `name` is a literal: what the card shows.
  template <class Work, class Then>
  void run_on(runtime::process::work_queue& queue, const char* name, Work work,
              Then then, failure_handler otherwise) {
    using result_type = decltype(work());
    queue.post([self = address(), name, work = std::move(work),
                then = std::move(then), otherwise = std::move(otherwise),
                around = seal()]() mutable {
      std::shared_ptr<result_type> result;
      std::shared_ptr<protocols::failure> error;
      try {
        result = std::make_shared<result_type>(work());
      } catch (const std::exception& e) {
        error = std::make_shared<protocols::failure>(to_failure(e));
      }
      come_back(
        self, name,
        [=, then = std::move(then)]() mutable {
          if (!error) {
            try {
              then(std::move(*result));
              return;
            } catch (const std::exception& e) {
              error = std::make_shared<protocols::failure>(to_failure(e));
            }
          }
          otherwise(*error);
        },
        around);
    });
  }

  /// Runs `next` in the actor, from any thread. `around`: sealed by the actor
  /// when it began what comes back now.
  static void come_back(const Handle& self, const char* name,
                        std::function<void()> next,
                        protocols::envelope around) {
    caf::anon_send(
      self,
      protocols::continuation{
        name, std::make_shared<std::function<void()>>(std::move(next))},
      std::move(around));
  }

  /// Runs `next` in the actor when the time is over.
  void after(std::chrono::milliseconds time, const char* name,
             std::function<void()> next) {
    auto run = [this, name, next = std::move(next)] {
      set_cause(cause_type::timeout, name);
      next();
    };
    this->delayed_send(
      address(), time,
      protocols::continuation{
        name, std::make_shared<std::function<void()>>(std::move(run))},
      seal());
  }

  /// Ends a child; it stops in the midst of nothing, behind its last message.
  template <class Target>
  void stop_actor(const Target& child) {
    this->send_exit(child, to_error({protocols::errc::shutting_down,
                                     "stopped by " + identity_.name},
                                    seal()));
  }

  [[nodiscard]] Handle address() { return caf::actor_cast<Handle>(this); }

  // -- failures ---------------------------------------------------------------

  /// Puts a failure onto the card and returns it.
  const protocols::failure& note(const protocols::failure& what) {
    card_.set_error(std::string{protocols::to_string(what.code())} + ": "
                    + what.what());
    return what;
  }

  /// The actor can't go on.
  const protocols::failure& fail(const protocols::failure& what) {
    life_.apply(protocols::actor_machine::event::failure_raised);
    return note(what);
  }

  process_context& process_;
  actor_identity identity_;
  runtime::inspect::card card_;
  runtime::journal::cause because_; ///< of what is recorded or sent now
  protocols::machine_instance<protocols::actor_machine> life_;

private:
  /// Stamps the card for the time of one handler.
  struct handling {
    handling(actor_base& a, std::string name, const protocols::envelope& around)
      : self(a) {
      const bool is_own =
        around.from.empty() || around.from == a.identity_.name;
      self.because_ = {cause_type::message, around.cause,
                       is_own ? name : name + " from " + around.from};
      self.card_.begin_handler(name);
    }
    ~handling() { self.card_.end_handler(); }
    handling(const handling&) = delete;
    handling& operator=(const handling&) = delete;
    actor_base& self;
  };

  /// Who lives in an older membership view is refused by every actor.
  void require_epoch(const protocols::header& head,
                     const protocols::envelope& around) const {
    const auto now = process_.epoch.load();
    if (head.epoch >= now)
      return;
    throw protocols::failure(
      protocols::errc::epoch_stale,
      identity_.name + " refuses request " + std::to_string(head.request_id)
        + " of " + (around.from.empty() ? "nobody named" : around.from)
        + ": it is of epoch " + std::to_string(head.epoch) + ", the job is in "
        + std::to_string(now));
  }

  template <class Message>
  void count(Message& message) {
    card_.count_out();
    count_message(process_, this->system(), message);
  }

  /// Of messages that CAF handles. An exit without an envelope is the
  /// process's own end.
  static runtime::journal::cause cause_of(const caf::type_erased_tuple& what) {
    if (what.match_elements<caf::exit_msg>()) {
      const auto around = envelope_of(what.get_as<caf::exit_msg>(0).reason);
      return {cause_type::message, around.cause,
              around.from.empty() ? "exit" : "exit from " + around.from};
    }
    if (what.match_elements<caf::down_msg>()) {
      const auto around = envelope_of(what.get_as<caf::down_msg>(0).reason);
      return {cause_type::down, around.cause, around.from};
    }
    return {};
  }
};

} // namespace troupe::actors
