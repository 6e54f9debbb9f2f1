// SPDX-License-Identifier: Apache-2.0
#include "actors/host_agent.hpp"

#include "actors/actor_base.hpp"
#include "actors/rank_main.hpp"
#include "protocols/host_machine.hpp"
#include "runtime/experience/row_codec.hpp"
#include "runtime/process/unique_fd.hpp"

namespace troupe::actors {

namespace {

using namespace protocols;
using runtime::config::deadline;
using event = host_machine::event;

/// The binary beside this one.
std::string rank_program() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path()
         / "troupe_rank";
}

class host_agent : public actor_base<host_agent_actor> {
public:
  host_agent(caf::actor_config& config, control_context& control)
    : actor_base(config, control.process,
                 {"host_agent/host=0", "host_agent", "coordinator"}),
      control_(control), machine_(make_machine<host_machine>("host/0")) {}

  behavior_type make_behavior() override {
    machine_.apply(event::agent_joined);
    started();
    return {on(&host_agent::on_start), on(&host_agent::on_stop),
            on_continuation()};
  }

private:
  caf::result<process_started> on_start(start_process& request) {
    auto pair = runtime::process::make_stream_pair();
    auto plane = std::make_shared<runtime::transport::frame_endpoint>(
      std::move(pair.ours),
      runtime::transport::frame_endpoint_options{
        .peer = request.process, .run_id = process_.cards->run_id()});
    plane->serve(runtime::experience::service_rows,
                 [&table = control_.prompts](std::span<const std::byte> bytes) {
                   const auto wanted =
                     runtime::experience::decode_row_request(bytes);
                   std::vector<runtime::experience::rollout_group> rows;
                   for (const auto& id : wanted.ids)
                     rows.push_back(table.row(wanted.split, id));
                   return runtime::experience::encode_rows(rows);
                 });
    control_.data_plane = std::move(plane);
    const auto program = rank_program();
    runtime::process::spawn_request spawn;
    spawn.name = request.process;
    spawn.argv = {
      program,         process_.run_directory.string(), request.process,
      request.address, process_.cards->run_id(),        control_.mode};
    spawn.environment = {"OMP_WAIT_POLICY=passive", "OMP_NUM_THREADS=1"};
    spawn.fds = {{pair.theirs.get(), rank_transport_fd}};
    auto answer = open<process_started>();
    control_.launcher.spawn(
      spawn, process_.patience(deadline::spawn),
      [this, self = address(), answer, around = seal(),
       theirs = std::make_shared<runtime::process::unique_fd>(
         std::move(pair.theirs))](runtime::process::spawn_result result) {
        come_back(
          self, "process_spawned",
          [answer, result]() mutable {
            if (result.error)
              answer.refuse(*result.error);
            else
              answer.answer({result.pid});
          },
          around);
      });
    return answer.result();
  }

  caf::result<stopped> on_stop(stop&) {
    machine_.apply(event::drain_requested);
    machine_.apply(event::drained);
    return stopped{1};
  }

  control_context& control_;
  machine_instance<host_machine> machine_;
};

} // namespace

host_agent_actor spawn_host_agent(caf::actor_system& system,
                                  control_context& control) {
  return system.spawn<host_agent>(std::ref(control));
}

} // namespace troupe::actors
