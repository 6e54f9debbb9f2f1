// SPDX-License-Identifier: Apache-2.0
#include "actors/prompt_source.hpp"

#include "actors/actor_base.hpp"

namespace troupe::actors {

namespace {

using namespace protocols;

class prompt_source : public actor_base<prompt_source_actor> {
public:
  prompt_source(caf::actor_config& config, control_context& control)
    : actor_base(config, control.process,
                 {"prompt_source", "prompt_source", "coordinator"}),
      table_(control.prompts) {}

  behavior_type make_behavior() override {
    started();
    return {on(&prompt_source::on_take), on(&prompt_source::on_tell),
            on(&prompt_source::on_seek), on_continuation()};
  }

private:
  caf::result<prompts_taken> on_take(take_prompts& request) {
    return prompts_taken{request.split == "eval"
                           ? table_.held_out(request.num_prompts)
                           : table_.take(request.num_prompts)};
  }

  caf::result<data_position> on_tell(tell_position&) {
    const auto at = table_.position();
    return data_position{at.data_pass, at.position};
  }

  caf::result<sought> on_seek(seek& request) {
    table_.seek(request.to.data_pass, request.to.position);
    return sought{};
  }

  prompt_table& table_;
};

} // namespace

prompt_source_actor spawn_prompt_source(caf::actor_system& system,
                                        control_context& control) {
  return system.spawn<prompt_source>(std::ref(control));
}

} // namespace troupe::actors
