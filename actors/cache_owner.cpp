// SPDX-License-Identifier: Apache-2.0
#include "actors/cache_owner.hpp"

#include "protocols/cache_machine.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

namespace troupe::actors {

namespace {

using namespace protocols;
using runtime::config::deadline;
using state = cache_machine::state;
using event = cache_machine::event;

/// Anonymous pages: addresses at once, memory when it is touched, given back to
/// the system when dropped.
class mapping {
public:
  mapping() = default;
  explicit mapping(std::size_t bytes) : bytes_(bytes) {
    data_ = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data_ == MAP_FAILED)
      throw failure(errc::memory_refused,
                    "the system refused " + std::to_string(bytes)
                      + " bytes for the KV cache: " + std::strerror(errno)
                      + "; lower rollout.slots or rollout.max_prompt_tokens");
  }
  mapping(mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}
  mapping& operator=(mapping&& other) noexcept {
    mapping old{std::move(*this)};
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~mapping() {
    if (data_)
      ::munmap(data_, bytes_);
  }

  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

class cache_owner : public actor_base<cache_owner_actor> {
public:
  cache_owner(caf::actor_config& config, rank_context& rank,
              rank_supervisor_actor supervisor)
    : actor_base(
      config, rank.process,
      {"cache_owner/dp=0/tp=0", "cache_owner", "rank_supervisor/dp=0/tp=0"}),
      supervisor_(std::move(supervisor)),
      machine_(make_machine<cache_machine>(identity_.name)) {
    // Anonymous pages could be given back under kept addresses, but no decode
    // graph needs that yet: parking is refused by name.
    machine_.facts().can_keep_addresses = false;
  }

  behavior_type make_behavior() override {
    started();
    return {on(&cache_owner::on_lease),
            on(&cache_owner::on_give_back),
            on(&cache_owner::on_park),
            on(&cache_owner::on_release),
            on(&cache_owner::on_retake),
            on(&cache_owner::on_close),
            on_continuation()};
  }

private:
  caf::result<leased> on_lease(lease& request) {
    const auto bytes = request.bytes;
    machine_.facts().is_larger = memory_.bytes() > 0 && bytes > memory_.bytes();
    if (is_decided_by_ledger(event::lease_requested)) {
      auto answer = open<leased>();
      take_pages(
        event::lease_requested, bytes,
        [this, answer]() mutable { answer.answer(lease_of_all()); },
        answer.otherwise());
      return answer.result();
    }
    decide(event::lease_requested, bytes);
    return lease_of_all();
  }

  caf::result<gave_back> on_give_back(give_back&) {
    const auto out = machine_.apply(event::lease_returned);
    if (out.taken->effects[0] == cache_machine::effect::answer_refused)
      throw refused("a return: no lease is out");
    return gave_back{};
  }

  caf::result<parked> on_park(park&) {
    const auto out = machine_.apply(event::park_requested);
    if (out.taken->effects[0] == cache_machine::effect::answer_refused)
      throw refused("parking: this cache cannot keep its addresses without its "
                    "pages in this version; use release");
    return parked{};
  }

  caf::result<cache_released> on_release(release_cache&) {
    const auto out = machine_.apply(event::release_requested);
    if (out.taken->effects[0] == cache_machine::effect::answer_refused)
      throw refused("a release");
    return cache_released{free_memory()};
  }

  caf::result<retaken> on_retake(retake&) {
    if (is_decided_by_ledger(event::retake_requested)) {
      auto answer = open<retaken>();
      take_pages(
        event::retake_requested, released_bytes_,
        [this, answer]() mutable {
          answer.answer({memory_.bytes(), generation_});
        },
        answer.otherwise());
      return answer.result();
    }
    decide(event::retake_requested, memory_.bytes());
    return retaken{memory_.bytes(), generation_};
  }

  caf::result<cache_closed> on_close(close_cache&) {
    const auto out = machine_.apply(event::close_requested);
    if (out.taken->effects[0] == cache_machine::effect::answer_refused)
      throw refused("closing");
    return cache_closed{free_memory()};
  }

  /// True if pages are to be taken as soon as they are granted. One request at
  /// a time waits for the ledger. Errors: refused_by_state, memory_refused.
  bool is_decided_by_ledger(event what) {
    machine_.facts().is_granted = true;
    const auto granted = machine_.peek(what);
    if (!granted.taken
        || (granted.taken->effects[0] != cache_machine::effect::map_pages
            && granted.taken->effects[0] != cache_machine::effect::grow))
      return false;
    if (is_asking_)
      throw failure(errc::memory_refused,
                    identity_.name
                      + ": another request for memory waits for "
                        "the ledger; ask again");
    return true;
  }

  void decide(event what, std::uint64_t bytes) {
    const auto out = machine_.apply(what);
    if (out.taken->effects[0] == cache_machine::effect::answer_refused)
      throw refused("to hold " + std::to_string(bytes) + " bytes");
  }

  /// Addresses first, then the ledger, then the machine: who refuses leaves
  /// everything as it was. Exactly one of `then` and `otherwise` runs.
  template <class Then>
  void take_pages(event what, std::uint64_t bytes, Then then,
                  failure_handler otherwise) {
    auto pages = std::make_shared<mapping>(bytes);
    is_asking_ = true;
    ask<granted>(
      supervisor_, "rank supervisor",
      reserve{process_.make_header(), identity_.name, "kv_cache", bytes,
              grant_.value_or(0)},
      deadline::control,
      [this, what, pages, then](granted& g) mutable {
        is_asking_ = false;
        grant_ = g.grant_id;
        machine_.facts().is_granted = true;
        try {
          decide(what, pages->bytes());
        } catch (const failure&) { // closed meanwhile
          give_up_grant();
          throw;
        }
        memory_ = std::move(*pages);
        ++generation_;
        then();
      },
      [this, what, bytes, otherwise](const failure& f) {
        is_asking_ = false;
        if (f.code() != errc::memory_refused) {
          otherwise(f);
          return;
        }
        machine_.facts().is_granted = false;
        try {
          decide(what, bytes);
        } catch (const failure& refusal) {
          otherwise(failure(refusal.code(), refusal.what(), f));
        }
      });
  }

  void give_up_grant() {
    if (grant_)
      tell(supervisor_, give_up{process_.make_header(), *grant_});
    grant_.reset();
  }

  std::uint64_t free_memory() {
    const auto bytes = memory_.bytes();
    if (bytes > 0)
      released_bytes_ = bytes;
    memory_ = {};
    give_up_grant();
    return bytes;
  }

  [[nodiscard]] leased lease_of_all() const {
    return {address_of(), memory_.bytes(), generation_};
  }

  [[nodiscard]] std::uint64_t address_of() const {
    return reinterpret_cast<std::uintptr_t>(memory_.data());
  }

  [[nodiscard]] failure refused(const std::string& what) const {
    return {errc::memory_refused,
            identity_.name + " refuses " + what + "; state "
              + std::string{to_string(machine_.state())} + ", "
              + std::to_string(memory_.bytes()) + " bytes held, leases out: "
              + std::to_string(machine_.data().num_leases)
              + " (rollout/dp=0/tp=0), live graphs: "
              + std::to_string(machine_.data().num_live_graphs)};
  }

  rank_supervisor_actor supervisor_;
  machine_instance<cache_machine> machine_;
  mapping memory_;
  std::uint64_t generation_ = 0, released_bytes_ = 0;
  std::optional<std::uint64_t> grant_;
  bool is_asking_ = false; ///< the ledger, for pages
};

} // namespace

cache_owner_actor spawn_cache_owner(caf::actor_system& system,
                                    rank_context& rank,
                                    const rank_supervisor_actor& supervisor) {
  return system.spawn<cache_owner>(std::ref(rank), supervisor);
}

} // namespace troupe::actors
