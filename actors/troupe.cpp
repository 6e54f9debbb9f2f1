// SPDX-License-Identifier: Apache-2.0
//
// The command. It answers in milliseconds because it has no LibTorch; a job's
// processes are started by the launcher, which this process becomes.
#include "actors/coordinator_main.hpp"
#include "actors/failure_message.hpp"
#include "actors/job_commands.hpp"
#include "protocols/failure.hpp"
#include "runtime/inspect/views.hpp"
#include "runtime/journal/check.hpp"
#include "runtime/printable.hpp"
#include "runtime/process/keeper.hpp"
#include "runtime/process/launcher.hpp"
#include "runtime/version.hpp"

#include <CLI/CLI.hpp>

#include <csignal>
#include <iostream>
#include <sstream>

namespace {

using namespace troupe;
using runtime::inspect::view_format;

/// Internal: argv of the processes that the launcher starts.
int run_internal(const std::string& which, std::vector<std::string> rest) {
  if (rest.size() < 2)
    throw protocols::failure(protocols::errc::invalid_request,
                             "`troupe " + which
                               + "` is started by `troupe run`");
  if (which == "keeper")
    return runtime::process::run_keeper({rest.begin() + 1, rest.end()},
                                        std::stod(rest[0]));
  actors::coordinator_options options;
  options.run_directory = rest.at(0);
  options.task = rest.at(1) == "run" ? actors::coordinator_task::run
                 : rest.at(1) == "generate"
                   ? actors::coordinator_task::generate
                   : actors::coordinator_task::evaluate;
  options.is_resuming = rest.size() > 2 && rest[2] == "resume";
  return actors::run_coordinator(options);
}

struct inspect_arguments {
  std::string view = "actors", directory;
  bool is_json = false;
  std::size_t last = 50;
  std::string process, kind, subject;
};

/// A view's text; names and errors in it are a user's.
template <class View, class... Arguments>
int show(View view, const Arguments&... arguments) {
  std::ostringstream text;
  const int code = view(arguments..., text);
  std::cout << runtime::printable(text.str());
  return code;
}

int inspect(inspect_arguments a) {
  constexpr const char* views[]{"actors", "tree", "processes", "journal"};
  const bool is_view =
    std::find(std::begin(views), std::end(views), a.view) != std::end(views);
  if (!is_view && a.directory.empty()
      && std::filesystem::is_directory(a.view)) {
    a.directory = a.view;
    a.view = "actors";
  } else if (!is_view) {
    std::cerr << "troupe inspect: no view '" << runtime::printable(a.view)
              << "'; allowed: actors, tree, processes, journal\n";
    return 2;
  }
  const auto dir = runtime::inspect::find_run_directory(
    a.directory.empty() ? std::nullopt
                        : std::optional<std::filesystem::path>{a.directory});
  const auto format = a.is_json ? view_format::json : view_format::text;
  if (a.view == "tree")
    return show(runtime::inspect::inspect_tree, dir, format);
  if (a.view == "processes")
    return show(runtime::inspect::inspect_processes, dir, format);
  if (a.view == "actors")
    return show(runtime::inspect::inspect_actors, dir, format);
  runtime::inspect::journal_view_options options;
  options.last = a.last;
  const auto set = [](std::optional<std::string>& to, const std::string& from) {
    if (!from.empty())
      to = from;
  };
  set(options.process, a.process);
  set(options.kind, a.kind);
  set(options.subject, a.subject);
  return show(runtime::inspect::inspect_journal, dir, format, options);
}

/// CLI11 would only say that a command is missing.
void require_command(const CLI::App& app, const std::string& name) {
  std::string known;
  for (const auto* command : app.get_subcommands({})) {
    if (command->get_name() == name)
      return;
    known += (known.empty() ? "" : ", ") + command->get_name();
  }
  throw protocols::failure(protocols::errc::invalid_request,
                           "no command \"" + name + "\"; allowed: " + known);
}

int run(int argc, char** argv) {
  if (argc > 1
      && (std::string_view{argv[1]} == "coordinator"
          || std::string_view{argv[1]} == "keeper"))
    return run_internal(argv[1], {argv + 2, argv + argc});

  CLI::App app{"Troupe post-trains language models with reinforcement "
               "learning, as a system of actors.",
               "troupe"};
  app.set_version_flag("--version", std::string{runtime::version()});
  app.require_subcommand(1);
  int code = 0;

  actors::run_arguments job;
  auto* run_command = app.add_subcommand("run", "Run a job to its end.");
  run_command->add_option("job", job.file, "Job file (YAML).")->required();
  run_command->add_option("overrides", job.overrides,
                          "key=value, as in train.steps=20.");
  run_command->add_flag("--dry-run", job.is_dry,
                        "Print the resolved job, its placement and memory.");
  run_command->add_flag("--resume", job.is_resuming,
                        "Continue from the newest sealed checkpoint.");
  run_command->callback([&] { code = actors::run_job_command(job); });

  actors::generate_arguments generate;
  auto* generate_command =
    app.add_subcommand("generate", "Sample completions from a model.");
  generate_command
    ->add_option("--model", generate.model, "Hugging Face folder.")
    ->required();
  auto* prompt =
    generate_command->add_option("--prompt", generate.prompt, "One prompt.");
  generate_command
    ->add_option("--file", generate.file,
                 "JSONL with a field 'prompt'; '-' reads standard input.")
    ->excludes(prompt);
  generate_command
    ->add_option("--max-new-tokens", generate.max_new_tokens,
                 "Budget of a completion.")
    ->capture_default_str();
  generate_command
    ->add_option("--temperature", generate.temperature, "0: greedy.")
    ->capture_default_str();
  generate_command->add_option("--top-p", generate.top_p, "1: off.")
    ->capture_default_str();
  generate_command->add_option("--top-k", generate.top_k, "0: off.")
    ->capture_default_str();
  generate_command->add_option("--seed", generate.seed, "Of the draw.")
    ->check(CLI::NonNegativeNumber)
    ->capture_default_str();
  generate_command->add_option("overrides", generate.overrides,
                               "key=value of a job, as in rollout.slots=8.");
  generate_command->callback(
    [&] { code = actors::generate_command(generate); });

  actors::eval_arguments eval;
  auto* eval_command =
    app.add_subcommand("eval", "Accuracy of a model on held-out rows.");
  eval_command->add_option("job", eval.file, "Job file with data.eval.");
  eval_command->add_option("overrides", eval.overrides, "key=value.");
  eval_command->add_option(
    "--model", eval.model,
    "Hugging Face folder; with a job, in place of its final model.");
  eval_command->add_option("--data", eval.data, "JSONL, without a job.");
  eval_command->callback([&] { code = actors::eval_command(eval); });

  inspect_arguments view;
  auto* inspect_command = app.add_subcommand(
    "inspect", "Look into a running or ended job by its run directory.");
  inspect_command
    ->add_option("view", view.view, "actors, tree, processes or journal.")
    ->capture_default_str();
  inspect_command->add_option("directory", view.directory,
                              "Run directory; default: the newest below here.");
  inspect_command->add_flag("--json", view.is_json, "For programs.");
  inspect_command->add_option("-n,--last", view.last, "Journal: records.")
    ->check(CLI::NonNegativeNumber)
    ->capture_default_str();
  inspect_command->add_option("--process", view.process, "Journal: of one.");
  inspect_command->add_option("--kind", view.kind, "Journal: one machine.");
  inspect_command->add_option("--subject", view.subject,
                              "Journal: one subject, or a prefix with '*'.");
  inspect_command->callback([&] { code = inspect(view); });

  std::string directory, record;
  auto* journal_command =
    app.add_subcommand("journal", "Hold the journals against the tables.");
  journal_command->require_subcommand(1);
  auto* check = journal_command->add_subcommand(
    "check", "Sequence, edges and rules of every record.");
  check->add_option("directory", directory, "Run directory.")->required();
  check->callback(
    [&] { code = show(runtime::journal::check_journal, directory); });
  auto* why = journal_command->add_subcommand(
    "why", "The chain of causes of one record.");
  why->add_option("directory", directory, "Run directory.")->required();
  why->add_option("record", record, "As in rank-0/17.")->required();
  why->callback(
    [&] { code = show(runtime::journal::why_journal, directory, record); });

  try {
    if (argc > 1 && argv[1][0] != '-')
      require_command(app, argv[1]);
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    std::ostringstream out, error;
    const int status = app.exit(e, out, error);
    std::cout << runtime::printable(out.str());
    std::cerr << runtime::printable(error.str());
    return status == 0 ? 0 : runtime::process::exit_refused;
  }
  return code;
}

} // namespace

int main(int argc, char** argv) {
  ::signal(SIGXFSZ, SIG_IGN); // a full quota is an error of the write
  try {
    const int code = run(argc, argv);
    if (!std::cout.flush() && code == 0) {
      std::cerr << "troupe: standard output is closed or full\n";
      return runtime::process::exit_failed;
    }
    return code;
  } catch (const protocols::failure& f) {
    std::cerr << "troupe: " << runtime::printable(f.chain()) << '\n';
    return runtime::process::exit_refused;
  } catch (const std::exception& e) {
    std::cerr << "troupe: " << runtime::printable(actors::to_failure(e).what())
              << '\n';
    return runtime::process::exit_failed;
  }
}
