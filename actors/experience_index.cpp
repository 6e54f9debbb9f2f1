// SPDX-License-Identifier: Apache-2.0
#include "actors/experience_index.hpp"

#include "actors/actor_base.hpp"
#include "protocols/group_machine.hpp"

#include <map>

namespace troupe::actors {

namespace {

using namespace protocols;
using event = group_machine::event;

/// Twice the largest batch that a job file allows would be more than memory
/// holds columns for.
constexpr std::size_t max_live_groups = 16384;

class experience_index : public actor_base<experience_index_actor> {
public:
  experience_index(caf::actor_config& config, control_context& control)
    : actor_base(config, control.process,
                 {"experience_index", "experience_index", "coordinator"}) {}

  behavior_type make_behavior() override {
    started();
    return {on(&experience_index::on_move), on_continuation()};
  }

private:
  caf::result<groups_moved> on_move(move_groups& request) {
    const auto what = static_cast<event>(request.event);
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
            .emplace(id, make_machine<group_machine>("group/" + to_string(id)))
            .first;
      }
      found->second.apply(what);
      if (found->second.is_terminal())
        groups_.erase(found);
    }
    return groups_moved{static_cast<std::uint32_t>(groups_.size())};
  }

  std::map<group_id, machine_instance<group_machine>> groups_;
};

} // namespace

experience_index_actor spawn_experience_index(caf::actor_system& system,
                                              control_context& control) {
  return system.spawn<experience_index>(std::ref(control));
}

} // namespace troupe::actors
