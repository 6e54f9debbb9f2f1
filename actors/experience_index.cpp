// SPDX-License-Identifier: Apache-2.0
#include "actors/experience_index.hpp"

#include "actors/actor_base.hpp"
#include "protocols/group_machine.hpp"

#include <map>

namespace troupe::actors {

namespace {

using namespace protocols;
using event = group_machine::event;
using effect = group_machine::effect;

/// Twice the largest batch that a job file allows would be more than memory
/// holds columns for.
constexpr std::size_t max_live_groups = 16384;

class experience_index : public actor_base<experience_index_actor> {
public:
  experience_index(caf::actor_config& config, process_context& process,
                   std::uint16_t max_policy_age)
    : actor_base(config, process,
                 {"experience_index", "experience_index", "coordinator"}),
      max_policy_age_(max_policy_age) {}

  behavior_type make_behavior() override {
    started();
    return {on(&experience_index::on_move), on_continuation()};
  }

private:
  struct group {
    machine_instance<group_machine> machine;
    policy_version version = 0; ///< that its samples are of
  };

  caf::result<groups_moved> on_move(move_groups& request) {
    const auto what = static_cast<event>(request.event);
    std::string stale;
    for (const auto& id : request.ids) {
      auto found = groups_.find(id);
      if (found == groups_.end()) {
        if (groups_.size() >= max_live_groups)
          throw failure(
            errc::capacity_exceeded,
            "the experience index holds " + std::to_string(groups_.size())
              + " groups, allowed: " + std::to_string(max_live_groups));
        found =
          groups_
            .emplace(
              id, group{make_machine<group_machine>("group/" + to_string(id))})
            .first;
        found->second.machine.facts().max_policy_age = max_policy_age_;
      }
      auto& [machine, version] = found->second;
      if (what == event::group_generated)
        version = request.version;
      machine.facts().policy_age_steps =
        static_cast<std::uint16_t>(request.version - version);
      const auto out = machine.apply(what);
      if (out.taken && out.taken->effects[0] == effect::answer_refused)
        stale += (stale.empty() ? "" : ", ") + to_string(id) + " of version "
                 + std::to_string(version);
      if (machine.is_terminal())
        groups_.erase(found);
    }
    if (!stale.empty())
      throw failure(errc::invalid_request,
                    "dropped, too old to be trained on at version "
                      + std::to_string(request.version) + ": group " + stale
                      + "; allowed age: " + std::to_string(max_policy_age_)
                      + " versions");
    return groups_moved{static_cast<std::uint32_t>(groups_.size())};
  }

  std::uint16_t max_policy_age_;
  std::map<group_id, group> groups_;
};

} // namespace

experience_index_actor spawn_experience_index(caf::actor_system& system,
                                              process_context& process,
                                              std::uint16_t max_policy_age) {
  return system.spawn<experience_index>(std::ref(process), max_policy_age);
}

} // namespace troupe::actors
