// SPDX-License-Identifier: Apache-2.0
#include "actors/coordinator_main.hpp"

#include "actors/actor_job.hpp"
#include "actors/caf_config.hpp"
#include "actors/checkpoint_index.hpp"
#include "actors/coordinator.hpp"
#include "actors/failure_message.hpp"
#include "actors/host_agent.hpp"
#include "actors/print_completions.hpp"
#include "protocols/failure.hpp"
#include "runtime/config/read_job.hpp"
#include "runtime/job_api/loops.hpp"
#include "runtime/model/decoder_config.hpp"
#include "runtime/outputs/run_directory.hpp"
#include "runtime/outputs/run_summary.hpp"
#include "runtime/process/launcher.hpp"
#include "runtime/process/stop_signals.hpp"

#include <caf/io/all.hpp>

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <iostream>
#include <random>

namespace troupe::actors {

namespace {

using protocols::errc;
using protocols::failure;
namespace outputs = runtime::outputs;
namespace process = runtime::process;
using runtime::config::deadline;
using clock = std::chrono::steady_clock;

std::string make_run_id(const std::filesystem::path& directory) {
  std::random_device entropy;
  char text[17];
  std::snprintf(text, sizeof text, "%08x%08x", entropy(), entropy());
  return directory.filename().string() + "-" + text;
}

model_facts facts_of(const runtime::config::job_config& job) {
  if (job.model.fresh) {
    const auto words = runtime::tokenizer::tokenizer::load(job.model.tokenizer);
    return {words.specials().eos, words.vocab_size(),
            job.model.fresh->max_positions};
  }
  const auto shape = runtime::model::read_decoder_config(job.model.path);
  return {shape.eos_token_ids.empty()
            ? std::nullopt
            : std::optional{shape.eos_token_ids.front()},
          shape.vocab_size, shape.max_positions};
}

row_use use_of(coordinator_task task) {
  switch (task) {
  case coordinator_task::generate: return row_use::generate;
  case coordinator_task::evaluate: return row_use::evaluate;
  case coordinator_task::run: break;
  }
  return row_use::train;
}

/// How the process ends.
struct ending {
  std::string status = "completed";
  int code = 0;
  std::string cause; ///< printed by the launcher when the code is not 0
  std::vector<std::string> causes, warnings;
};

/// What the user gave cannot be used: configuration, data, model, tokenizer,
/// plug-in, reward function, checkpoint, files, or it is more than fits.
bool is_of_the_input(errc code) {
  const auto number = static_cast<int>(code);
  return (number > 100 && number < 400) || code == errc::capacity_exceeded
         || code == errc::invalid_request || code == errc::reward_failed
         || (number > 700 && number < 800);
}

ending ending_of(const failure& why, bool has_begun) {
  ending out;
  if (why.code() == errc::aborted) {
    out.status = "aborted";
    out.code = process::exit_aborted;
  } else if (!has_begun && is_of_the_input(why.code())) {
    out.status = "refused";
    out.code = process::exit_refused;
  } else {
    out.status = "failed";
    out.code = process::exit_failed;
  }
  out.cause = why.chain();
  out.causes = why.causes();
  return out;
}

class coordinator_process {
public:
  coordinator_process(coordinator_options options,
                      runtime::config::job_config job)
    : options_(std::move(options)), job_(std::move(job)) {
    context_.process = "coordinator";
    context_.run_directory = options_.run_directory;
    context_.deadline_scale = job_.limits.deadline_scale;
    context_.cards = runtime::inspect::card_file::create(
      options_.run_directory, context_.process,
      runtime::inspect::process_kind::coordinator,
      make_run_id(options_.run_directory));
    warn_if_unseen(*context_.cards);
    context_.journal =
      std::make_shared<runtime::journal::writer>(context_.cards);
  }

  int operator()() {
    auto socket = process::launcher_client::from_environment();
    if (!socket)
      throw failure(errc::invalid_request,
                    "the coordinator is started by `troupe run`");
    launcher_.emplace(std::move(*socket), events());
    launcher_->configure(options_.run_directory, job_.limits.deadline_scale);
    ending how;
    try {
      how = run();
    } catch (const std::exception& e) {
      how = ending_of(to_failure(e), has_begun_);
    }
    finish(how);
    return how.code;
  }

private:
  process::launcher_events events() {
    process::launcher_events out;
    out.on_exit = [this](const process::process_exited& e) {
      const std::lock_guard lock{coordinator_mutex_};
      if (coordinator_)
        caf::anon_send(coordinator_,
                       protocols::process_exited{e.name, e.pid,
                                                 e.status.signal
                                                   ? e.status.signal
                                                   : e.status.code << 8},
                       protocols::envelope{"launcher", {}});
    };
    out.on_signal = [this](int number, int count) {
      const std::lock_guard lock{coordinator_mutex_};
      if (coordinator_)
        caf::anon_send(coordinator_, protocols::signalled{number, count},
                       protocols::envelope{"launcher", {}});
      else
        early_signals_.push_back({number, count});
    };
    out.on_launcher_lost = [] { std::_Exit(1); };
    return out;
  }

  ending run() {
    const auto start = clock::now();
    start_ = start;
    context_.cards->set_process_state("loading");
    prompt_table prompts{job_, facts_of(job_), use_of(options_.task)};
    for (const auto& one : prompts.counts())
      summary_.data[one.split] = {one.num_kept, one.num_dropped};
    completion_texts texts;
    process::work_queue files{"files", 64};
    const bool trains = options_.task == coordinator_task::run;
    control_context control{.process = context_,
                            .config = job_,
                            .launcher = *launcher_,
                            .files = files,
                            .prompts = prompts,
                            .texts = texts,
                            .mode = trains ? "train" : "generate",
                            .data_plane = nullptr};
    std::optional<resume_point> resume;
    if (options_.is_resuming)
      resume = find_resume_point(control);

    caf_config config{context_.cards->run_id(), context_.deadline_scale};
    caf::actor_system system{config};
    system.await_actors_before_shutdown(false);
    const auto link = std::make_shared<job_link>();
    const auto agent = spawn_host_agent(system, control);
    const auto coordinator = spawn_coordinator(
      system, {control, link, agent, resume ? resume->folder : "",
               resume ? resume->loop_state : ""});
    auto port = system.middleman().publish(coordinator, 0, "127.0.0.1");
    if (!port)
      throw failure(errc::io_failed, "no port on 127.0.0.1 to listen on: "
                                       + system.render(port.error()));
    set_address(coordinator, "127.0.0.1:" + std::to_string(*port));
    {
      const std::lock_guard lock{coordinator_mutex_};
      coordinator_ = coordinator;
      for (const auto& s : early_signals_)
        caf::anon_send(coordinator, s, protocols::envelope{"launcher", {}});
    }
    ending how =
      drive(system, control, link, coordinator, resume ? resume->step : -1);
    // The rank ends when the coordinator does: the cause comes before that.
    if (how.code != 0)
      report(how);
    {
      const std::lock_guard lock{coordinator_mutex_};
      coordinator_ = nullptr;
    }
    caf::anon_send_exit(coordinator, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(agent, caf::exit_reason::user_shutdown);
    if (const auto left = await_actors(system); left > 0) {
      how.warnings.push_back(std::to_string(left)
                             + " actors have not ended; see the cards");
      finish(how);
      std::_Exit(how.code); // they use what lives in this function
    }
    control.data_plane.reset();
    return how;
  }

  /// Returns how many run after the deadline: one that does not end must not
  /// hold the process.
  std::size_t await_actors(caf::actor_system& system) {
    const auto until = clock::now() + context_.patience(deadline::control);
    while (system.registry().running() > 0 && clock::now() < until)
      ::usleep(500);
    return system.registry().running();
  }

  /// Runs the loop and the ordered shutdown behind it.
  ending drive(caf::actor_system& system, control_context& control,
               const std::shared_ptr<job_link>& link,
               const protocols::coordinator_actor& coordinator,
               std::int64_t resumed_step) {
    if (options_.task != coordinator_task::run)
      return drive_tool(system, control, link, coordinator);
    const std::optional<std::int64_t> resumed =
      resumed_step < 0 ? std::nullopt : std::optional{resumed_step};
    const auto& dir = options_.run_directory;
    outputs::metrics_writer metrics{dir / std::string{outputs::layout::metrics},
                                    resumed};
    outputs::tensorboard_writer tensorboard{
      dir / std::string{outputs::layout::tensorboard}, resumed};
    outputs::rollouts_writer rollouts{
      dir / std::string{outputs::layout::rollouts}, resumed};
    outputs::progress_line progress{
      std::cout, outputs::progress_line::style_of(STDOUT_FILENO)};
    job_outputs out{metrics, tensorboard, rollouts, progress};
    actor_job job{system, control, link, coordinator, &out, resumed_step};
    for (const auto& one : control.prompts.counts())
      progress.print(one.description);
    context_.cards->set_process_state("running");

    ending how;
    std::optional<failure> why;
    try {
      const auto result = runtime::job_api::run_job(job);
      summary_.steps = result.steps_done;
      summary_.metrics = result.last;
      if (!result.is_complete)
        how.status = "stopped";
    } catch (const std::exception& e) { // whatever it is, in the ordered way
      why = to_failure(e);
    }
    has_begun_ = job.is_open();
    progress.finish();
    summary_.checkpoint = job.last_checkpoint();
    summary_.final_model = job.final_model();
    summary_.policy_version = job.version();
    return close(job, *link, how, why);
  }

  ending drive_tool(caf::actor_system& system, control_context& control,
                    const std::shared_ptr<job_link>& link,
                    const protocols::coordinator_actor& coordinator) {
    actor_job job{system, control, link, coordinator, nullptr, -1};
    ending how;
    std::optional<failure> why;
    try {
      job.open();
      has_begun_ = true;
      if (options_.task == coordinator_task::generate)
        print_completions(job, control, std::cout);
      else
        summary_.metrics = print_evaluation(job, std::cout);
      if (!std::cout.flush())
        throw failure(errc::io_failed,
                      "the result cannot be written to standard output: it is "
                      "closed or full");
    } catch (const std::exception& e) { // whatever it is, in the ordered way
      why = to_failure(e);
    }
    return close(job, *link, how, why);
  }

  ending close(actor_job& job, const job_link& link, ending how,
               const std::optional<failure>& why) {
    context_.cards->set_process_state("closing");
    if (const auto ended = link.ended())
      return ending_of(*ended,
                       has_begun_); // the rank is lost or the job aborted
    const auto fault = job.close(why ? &*why : nullptr);
    // Whom the loop asked was gone: the coordinator knows of what.
    if (const auto ended = link.ended();
        ended && why && why->code() == errc::peer_gone)
      return ending_of(*ended, has_begun_);
    if (why)
      return ending_of(*why, has_begun_);
    if (const auto ended = link.ended();
        ended && ended->code() == errc::aborted)
      return ending_of(*ended, has_begun_);
    // Success is recorded before the teardown, whose fault is a warning (P3).
    if (fault) {
      how.warnings.push_back("completed, teardown fault: "
                             + std::string{fault->what()});
      std::cerr << "troupe: warning: " << how.warnings.back() << '\n';
    }
    return how;
  }

  void finish(const ending& how) {
    summary_.status = how.status;
    summary_.exit_code = how.code;
    summary_.reason =
      how.code == 0 ? how.status : how.cause.substr(0, how.cause.find('\n'));
    summary_.causes = how.causes;
    summary_.warnings = how.warnings;
    summary_.metrics["control/largest_message_bytes"] =
      static_cast<double>(context_.largest_message_bytes.load());
    summary_.metrics["control/messages"] =
      static_cast<double>(context_.num_messages.load());
    summary_.wall_seconds =
      std::chrono::duration<double>(clock::now() - start_).count();
    try {
      // Of a refused resume, the run before has said more.
      if (how.code != process::exit_refused || !options_.is_resuming)
        outputs::write_summary(options_.run_directory
                                 / std::string{outputs::layout::summary},
                               summary_);
    } catch (const failure& f) {
      std::cerr << "troupe: warning: " << f.what() << '\n';
    }
    if (options_.task == coordinator_task::run && how.code == 0)
      std::printf("%s: %lld steps in %.0f s, in %s\n", how.status.c_str(),
                  static_cast<long long>(summary_.steps), summary_.wall_seconds,
                  options_.run_directory.c_str());
    std::fflush(stdout);
    context_.cards->set_process_state("ended");
    context_.cards->set_end(how.code == 0 ? "done" : how.cause);
    context_.journal->close(how.status);
    report(how);
    launcher_.reset(); // sends what is queued
  }

  /// Tells the launcher, once.
  void report(const ending& how) {
    if (!std::exchange(has_reported_, true))
      launcher_->report(how.code, how.cause);
  }

  coordinator_options options_;
  runtime::config::job_config job_;
  process_context context_;
  std::optional<process::launcher_client> launcher_;
  std::mutex coordinator_mutex_;
  protocols::coordinator_actor coordinator_;
  std::vector<protocols::signalled> early_signals_;
  bool has_begun_ = false; ///< before that, a failure is a refusal
  bool has_reported_ = false;
  outputs::run_summary summary_;
  clock::time_point start_ = clock::now();
};

} // namespace

int run_coordinator(const coordinator_options& options) {
  ::signal(SIGPIPE, SIG_IGN); // a reader that leaves ends no training
  process::pass_on_stop_signals();
  coordinator_process process{
    options, runtime::config::read_job(
               options.run_directory / std::string{outputs::layout::resolved})};
  return process();
}

} // namespace troupe::actors
