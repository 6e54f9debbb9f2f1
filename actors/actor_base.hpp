// SPDX-License-Identifier: Apache-2.0
//
// What every actor of ours is made of: a card that is always true, a handler
// wrapper that stamps it and turns what is thrown into a typed error, requests
// with a deadline, work that goes to a queue and comes back as a message, and
// machines whose every move is journaled.
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
      life_(make_machine<protocols::actor_machine>(identity_.name)) {
    this->set_exception_handler([this](std::exception_ptr& thrown) {
      try {
        std::rethrow_exception(thrown);
      } catch (const std::exception& e) {
        return to_error(fail(to_failure(e)));
      }
    });
  }

  void enqueue(caf::mailbox_element_ptr message,
               caf::execution_unit* unit) override {
    card_.count_in();
    super::enqueue(std::move(message), unit);
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
        last_record_ = process_.journal->record(
          {.kind = std::string{move.machine},
           .subject = std::string{move.subject},
           .from = std::string{move.from},
           .to = std::string{move.to},
           .event = std::string{move.event},
           .because = {runtime::journal::cause_type::message, {}, handler_},
           .job_epoch = process_.epoch.load()},
          move.subject == identity_.name ? card_ : runtime::inspect::card{});
      });
  }

  /// To be called at the end of make_behavior: the actor can take requests.
  void started() { life_.apply(protocols::actor_machine::event::started); }

  // -- handlers ---------------------------------------------------------------

  /// Wraps a member function that answers a request.
  template <class Self, class Reply, class Request>
  auto on(caf::result<Reply> (Self::*answer)(Request&)) {
    return [this, answer](Request& request) -> caf::result<Reply> {
      const handling scope{*this, caf::type_name<Request>::value};
      try {
        return (static_cast<Self*>(this)->*answer)(request);
      } catch (const std::exception& e) {
        return to_error(note(to_failure(e)));
      }
    };
  }

  /// Wraps a member function that takes an event.
  template <class Self, class Event>
  auto on(void (Self::*take)(Event&)) {
    return [this, take](Event& event) {
      const handling scope{*this, caf::type_name<Event>::value};
      try {
        (static_cast<Self*>(this)->*take)(event);
      } catch (const std::exception& e) {
        note(to_failure(e));
      }
    };
  }

  /// The handler of continuations, part of every behavior.
  auto on_continuation() {
    return [this](protocols::continuation& c) {
      const handling scope{*this, c.name};
      (*c.run)();
    };
  }

  /// A request that is answered later. While one is open the actor is busy.
  template <class Reply>
  class open_request {
  public:
    open_request(actor_base& self)
      : self_(&self), promise_(self.template make_response_promise<Reply>()) {
      self.life_.apply(protocols::actor_machine::event::request_accepted);
    }
    void answer(Reply reply) {
      self_->count(reply);
      promise_.deliver(std::move(reply));
      self_->life_.apply(protocols::actor_machine::event::request_answered);
    }
    void refuse(const protocols::failure& why) {
      promise_.deliver(to_error(self_->note(why)));
      self_->life_.apply(protocols::actor_machine::event::request_answered);
    }
    [[nodiscard]] caf::result<Reply> result() const { return promise_; }
    /// For the failure path of what was started for this request.
    [[nodiscard]] failure_handler otherwise() {
      return
        [copy = *this](const protocols::failure& f) mutable { copy.refuse(f); };
    }

  private:
    actor_base* self_;
    caf::typed_response_promise<Reply> promise_;
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
    count(request);
    const auto name = std::string{caf::type_name<Request>::value};
    const auto short_name = name.substr(name.rfind(':') + 1);
    const auto patience = process_.patience(within);
    const auto asked = who + " was asked to " + short_name + " ("
                       + std::to_string(patience.count()) + " ms)";
    this->request(target, patience, std::move(request))
      .then(
        [this, then = std::make_shared<Then>(std::move(then)), short_name,
         otherwise](Reply& reply) {
          const handling scope{*this, short_name};
          try {
            (*then)(reply);
          } catch (const std::exception& e) {
            otherwise(note(to_failure(e)));
          }
        },
        [this, otherwise, short_name, asked](caf::error& e) {
          const handling scope{*this, short_name};
          otherwise(to_failure(e, asked));
        });
  }

  /// Sends an event or a request whose answer does not matter.
  template <class Target, class Message>
  void tell(const Target& target, Message message) {
    count(message);
    caf::anon_send(target, std::move(message));
  }

  // -- work elsewhere ---------------------------------------------------------

  /// Runs `work` on a queue's thread and `then(result)` back in the actor.
  /// `name` is a literal: what the card shows.
  template <class Work, class Then>
  void run_on(runtime::process::work_queue& queue, const char* name, Work work,
              Then then, failure_handler otherwise) {
    using result_type = decltype(work());
    queue.post([self = address(), name, work = std::move(work),
                then = std::move(then),
                otherwise = std::move(otherwise)]() mutable {
      std::shared_ptr<result_type> result;
      std::shared_ptr<protocols::failure> error;
      try {
        result = std::make_shared<result_type>(work());
      } catch (const std::exception& e) {
        error = std::make_shared<protocols::failure>(to_failure(e));
      }
      come_back(self, name, [=, then = std::move(then)]() mutable {
        if (!error) {
          try {
            then(std::move(*result));
            return;
          } catch (const std::exception& e) {
            error = std::make_shared<protocols::failure>(to_failure(e));
          }
        }
        otherwise(*error);
      });
    });
  }

  /// Runs `next` in the actor, from any thread.
  static void come_back(const Handle& self, const char* name,
                        std::function<void()> next) {
    caf::anon_send(
      self, protocols::continuation{
              name, std::make_shared<std::function<void()>>(std::move(next))});
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
  protocols::machine_instance<protocols::actor_machine> life_;

private:
  /// Stamps the card for the time of one handler.
  struct handling {
    handling(actor_base& a, std::string_view what) : self(a) {
      self.handler_ = std::string{what.substr(what.rfind(':') + 1)};
      self.card_.begin_handler(self.handler_);
    }
    ~handling() { self.card_.end_handler(); }
    handling(const handling&) = delete;
    handling& operator=(const handling&) = delete;
    actor_base& self;
  };

  template <class Message>
  void count(Message& message) {
    card_.count_out();
    count_message(process_, this->system(), message);
  }

  std::string handler_, last_record_;
};

} // namespace troupe::actors
