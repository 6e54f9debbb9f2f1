// SPDX-License-Identifier: Apache-2.0
#include "actors/checkpoint_index.hpp"

#include "actors/actor_base.hpp"
#include "protocols/checkpoint_machine.hpp"
#include "runtime/checkpoint/file_io.hpp"
#include "runtime/checkpoint/manifest.hpp"
#include "runtime/checkpoint/step_folder.hpp"
#include "runtime/outputs/run_directory.hpp"

#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

namespace troupe::actors {

namespace {

using namespace protocols;
using runtime::config::deadline;
using event = checkpoint_machine::event;
namespace files = runtime::checkpoint;

std::filesystem::path folder_of(const process_context& process) {
  return process.run_directory
         / std::string{runtime::outputs::layout::checkpoints};
}

/// What must agree between a checkpoint and the job that continues it.
std::string job_identity(const runtime::config::job_config& job) {
  std::string files;
  for (const std::filesystem::path path : job.data.train.file)
    files += (files.empty() ? "" : ",") + path.filename().string();
  return "seed=" + std::to_string(job.run.seed)
         + " algorithm=" + job.train.algorithm
         + " warmup=" + std::to_string(job.sft_warmup.steps) + " data=" + files;
}

std::string model_identity(const runtime::config::job_config& job) {
  const auto& m = job.model;
  if (!m.fresh)
    return "path=" + m.path;
  return "fresh hidden=" + std::to_string(m.fresh->hidden_size)
         + " layers=" + std::to_string(m.fresh->num_layers) + " heads="
         + std::to_string(m.fresh->num_heads) + " mlp=" + m.fresh->mlp;
}

class checkpoint_index : public actor_base<checkpoint_index_actor> {
public:
  checkpoint_index(caf::actor_config& config, process_context& process,
                   const runtime::config::job_config& job,
                   runtime::process::work_queue& file_queue,
                   parameter_shard_actor shard)
    : actor_base(config, process,
                 {"checkpoint_index", "checkpoint_index", "coordinator"}),
      job_(job), files_(file_queue), shard_(std::move(shard)) {}

  behavior_type make_behavior() override {
    started();
    return {on(&checkpoint_index::on_save), on_continuation()};
  }

private:
  using machine = machine_instance<checkpoint_machine>;
  using writer = files::checkpoint_writer;

  caf::result<saved> on_save(save& request) {
    auto m = std::make_shared<machine>(make_machine<checkpoint_machine>(
      "checkpoint/step-" + std::to_string(request.step)));
    m->facts().num_parts = 2; // the rank's and the coordinator's
    m->apply(event::save_requested);
    auto answer = open<saved>();
    const auto failing = [this, m, answer,
                          step = request.step](const failure& f) mutable {
      m->apply(f.code() == errc::deadline_exceeded ? event::deadline_expired
               : f.code() == errc::peer_gone       ? event::process_lost
                                                   : event::write_failed);
      remove_torn(step, f, answer);
    };
    run_on(
      files_, "begin_checkpoint",
      [this, request] {
        auto w = std::make_shared<writer>(
          folder_of(process_), static_cast<std::int64_t>(request.step));
        files::replace_file(w->path() / loop_state_file, request.loop_state);
        w->add_file(loop_state_file);
        return w;
      },
      [this, m, answer, failing,
       step = request.step](std::shared_ptr<writer> w) mutable {
        m->apply(event::part_written);
        write_rank(m, std::move(w), step, answer, failing);
      },
      failing);
    return answer.result();
  }

  /// What was written of a checkpoint that is given up; then the answer.
  void remove_torn(std::uint64_t step, const failure& why,
                   open_request<saved> answer) {
    run_on(
      files_, "remove_torn",
      [this, step] {
        files::remove_step_folder(
          folder_of(process_)
          / (files::step_folder_name(static_cast<std::int64_t>(step))
             + ".partial"));
        return 0;
      },
      [answer, why](int) mutable { answer.refuse(why); },
      [this, answer, why](const failure& f) mutable {
        note(f); // it is never taken for a checkpoint; the next run removes it
        answer.refuse(why);
      });
  }

  /// Returns why an old checkpoint could not be removed: the new one is sealed
  /// all the same.
  std::optional<failure> prune() const {
    try {
      files::retain_newest(folder_of(process_), job_.run.keep_checkpoints);
      return {};
    } catch (const failure& f) {
      return f;
    }
  }

  void write_rank(const std::shared_ptr<machine>& m, std::shared_ptr<writer> w,
                  std::uint64_t step, open_request<saved> answer,
                  failure_handler failing) {
    ask<checkpoint_written>(
      shard_, "parameter_shard/dp=0/tp=0",
      write_checkpoint{process_.make_header(), w->path().string()},
      deadline::save,
      [this, m, w, step, answer, failing](checkpoint_written& part) mutable {
        m->apply(event::part_written);
        run_on(
          files_, "seal_checkpoint",
          [this, w, part, step] {
            for (const auto& file : part.files)
              w->add_file(file);
            const auto sealed =
              w->seal({.job_identity = job_identity(job_),
                       .model_identity = model_identity(job_),
                       .step = static_cast<std::int64_t>(step),
                       .policy_version = part.version,
                       .files = {}});
            return std::pair{sealed.string(), prune()};
          },
          [this, m, answer,
           step](const std::pair<std::string, std::optional<failure>>&
                   sealed) mutable {
            m->apply(event::checkpoint_sealed);
            if (sealed.second)
              note(*sealed.second);
            answer.answer({step, sealed.first});
          },
          failing);
      },
      failing);
  }

  const runtime::config::job_config& job_;
  runtime::process::work_queue& files_;
  parameter_shard_actor shard_;
};

/// A run that has all its steps may be resumed: it ends at once.
void require_steps_left(const runtime::config::job_config& job,
                        const files::sealed_checkpoint& newest) {
  const auto total = job.sft_warmup.steps + job.train.steps;
  if (newest.step > total)
    throw failure(errc::config_conflict,
                  newest.path.string() + " has " + std::to_string(newest.step)
                    + " steps done, but sft_warmup.steps + train.steps is "
                    + std::to_string(total)
                    + ": nothing is left to do; raise train.steps, or name "
                      "another run.directory");
}

} // namespace

resume_point find_resume_point(const control_context& control) {
  const auto sealed = files::list_sealed(folder_of(control.process));
  if (sealed.empty())
    throw failure(errc::checkpoint_absent,
                  folder_of(control.process).string()
                    + " holds no sealed checkpoint to resume from; take the "
                      "run's folder away, or name another run.directory, and "
                      "start without --resume");
  const auto& newest = sealed.front();
  try {
    files::require_identity(files::verify(newest.path), newest.path,
                            job_identity(control.config),
                            model_identity(control.config));
  } catch (const failure& why) {
    if (why.code() != errc::checkpoint_corrupt || sealed.size() < 2)
      throw;
    throw failure(errc::checkpoint_corrupt,
                  std::string{why.what()} + "; to resume from "
                    + sealed[1].path.filename().string() + " instead, take "
                    + newest.path.string() + " away");
  }
  require_steps_left(control.config, newest);
  std::ifstream in{newest.path / loop_state_file};
  std::ostringstream text;
  text << in.rdbuf();
  return {newest.path.string(), newest.step, text.str()};
}

checkpoint_index_actor
spawn_checkpoint_index(caf::actor_system& system, process_context& process,
                       const runtime::config::job_config& job,
                       runtime::process::work_queue& files,
                       const parameter_shard_actor& shard) {
  return system.spawn<checkpoint_index>(std::ref(process), std::cref(job),
                                        std::ref(files), shard);
}

} // namespace troupe::actors
