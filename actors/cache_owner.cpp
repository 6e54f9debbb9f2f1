// SPDX-License-Identifier: Apache-2.0
#include "actors/cache_owner.hpp"

#include "protocols/cache_machine.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

namespace troupe::actors {

namespace {

using namespace protocols;
using runtime::config::deadline;
using state = cache_machine::state;
using event = cache_machine::event;

/// Anonymous pages, given back to the system when dropped.
class mapping {
public:
  mapping() = default;
  mapping(const mapping&) = delete;
  mapping& operator=(const mapping&) = delete;
  ~mapping() { unmap(); }

  void map(std::size_t bytes) {
    unmap();
    void* got = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED)
      throw failure(errc::memory_refused,
                    "the system refused " + std::to_string(bytes)
                      + " bytes for the KV cache: " + std::strerror(errno)
                      + "; lower rollout.slots or rollout.max_prompt_tokens");
    data_ = got;
    bytes_ = bytes;
  }

  void unmap() noexcept {
    if (data_)
      ::munmap(data_, bytes_);
    data_ = nullptr;
    bytes_ = 0;
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
    const auto wanted = request.bytes;
    const bool is_first = machine_.state() == state::unallocated;
    machine_.facts().is_larger = wanted > memory_.bytes() && !is_first;
    if (!is_first && !machine_.data().is_larger) {
      machine_.apply(event::lease_requested);
      return leased{address_of(), memory_.bytes(), generation_};
    }
    auto answer = open<leased>();
    with_grant(
      wanted,
      [this, wanted, answer](bool is_granted) mutable {
        machine_.facts().is_granted = is_granted;
        const auto out = machine_.apply(event::lease_requested);
        if (out.taken->effects[0] == cache_machine::effect::answer_refused)
          throw refused("a lease of " + std::to_string(wanted) + " bytes");
        memory_.map(wanted);
        ++generation_;
        answer.answer({address_of(), memory_.bytes(), generation_});
      },
      answer.otherwise());
    return answer.result();
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
    machine_.facts().is_granted = true;
    const auto out = machine_.apply(event::retake_requested);
    if (out.taken->effects[0] == cache_machine::effect::map_pages) {
      memory_.map(released_bytes_);
      ++generation_;
    }
    return retaken{memory_.bytes(), generation_};
  }

  caf::result<cache_closed> on_close(close_cache&) {
    const auto out = machine_.apply(event::close_requested);
    if (out.taken->effects[0] == cache_machine::effect::answer_refused)
      throw refused("closing");
    return cache_closed{free_memory()};
  }

  /// Asks the ledger for `bytes` in place of what is held.
  template <class Then>
  void with_grant(std::uint64_t bytes, Then then, failure_handler otherwise) {
    if (grant_)
      tell(supervisor_, give_up{process_.make_header(), *grant_});
    grant_.reset();
    ask<granted>(
      supervisor_, "rank supervisor",
      reserve{process_.make_header(), identity_.name, "kv_cache", bytes},
      deadline::control,
      [this, then](granted& g) mutable {
        grant_ = g.grant_id;
        then(true);
      },
      [then, otherwise](const failure& f) mutable {
        if (f.code() != errc::memory_refused) {
          otherwise(f);
          return;
        }
        try {
          then(false);
        } catch (const failure& refusal) {
          otherwise(failure(errc::memory_refused, refusal.what(), f));
        }
      });
  }

  std::uint64_t free_memory() {
    const auto bytes = memory_.bytes();
    if (bytes > 0)
      released_bytes_ = bytes;
    memory_.unmap();
    if (grant_)
      tell(supervisor_, give_up{process_.make_header(), *grant_});
    grant_.reset();
    return bytes;
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
};

} // namespace

cache_owner_actor spawn_cache_owner(caf::actor_system& system,
                                    rank_context& rank,
                                    const rank_supervisor_actor& supervisor) {
  return system.spawn<cache_owner>(std::ref(rank), supervisor);
}

} // namespace troupe::actors
