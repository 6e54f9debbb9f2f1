// SPDX-License-Identifier: Apache-2.0
#include "actors/job_commands.hpp"

#include "actors/loss_report.hpp"
#include "actors/memory_plan.hpp"
#include "protocols/failure.hpp"
#include "runtime/checkpoint/file_io.hpp"
#include "runtime/config/check_job.hpp"
#include "runtime/config/read_job.hpp"
#include "runtime/inspect/card_file.hpp"
#include "runtime/outputs/run_directory.hpp"
#include "runtime/process/address_space.hpp"
#include "runtime/process/launcher.hpp"
#include "runtime/tokenizer/utf8.hpp"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

namespace troupe::actors {

namespace {

using protocols::errc;
using protocols::failure;
using runtime::config::job_config;
namespace outputs = runtime::outputs;

/// Writes resolved.yaml and runs the job's processes.
int launch(const outputs::run_directory& directory, const job_config& job,
           const std::string& task, bool is_resuming) {
  std::string resolved_before;
  if (is_resuming)
    resolved_before =
      runtime::checkpoint::mapped_file{directory / outputs::layout::resolved}
        .text();
  runtime::process::check_address_space();
  directory.write_resolved(runtime::config::write_resolved(job));
  runtime::process::launcher_options options;
  options.coordinator_argv = {
    std::filesystem::read_symlink("/proc/self/exe").string(), "coordinator",
    directory.path().string(), task};
  if (is_resuming)
    options.coordinator_argv.emplace_back("resume");
  options.describe = report_loss;
  options.record_end = [](const std::filesystem::path& run_directory,
                          const std::string& process, const std::string& end) {
    runtime::inspect::card_file::record_end(run_directory, process, end);
  };
  const int code = runtime::process::run_launcher(options);
  if (is_resuming && code == runtime::process::exit_refused)
    directory.write_resolved(resolved_before);
  return code;
}

/// A run directory for a command that leaves nothing behind.
class scratch_directory {
public:
  scratch_directory() {
    const char* folder = std::getenv("TMPDIR");
    std::string pattern =
      std::string{folder && *folder ? folder : "/tmp"} + "/troupe-XXXXXX";
    if (!::mkdtemp(pattern.data()))
      throw failure(errc::io_failed,
                    "cannot make the folder " + pattern + ": "
                      + std::generic_category().message(errno)
                      + "; set TMPDIR to a folder that can be written");
    path_ = pattern;
  }
  scratch_directory(const scratch_directory&) = delete;
  scratch_directory& operator=(const scratch_directory&) = delete;
  ~scratch_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
  std::filesystem::path path_;
};

/// JSON is YAML, and quotes what it must.
int launch_tool(const nlohmann::json& job_text, const std::string& task,
                const std::vector<std::string>& overrides,
                const scratch_directory& scratch) {
  const auto job =
    runtime::config::read_job_text(job_text.dump(), "command line", overrides);
  const auto directory = outputs::run_directory::open(
    scratch.path() / "run", outputs::open_mode::fresh);
  return launch(directory, job, task, false);
}

/// The prompts of the command as JSONL, where the job's rows come from.
std::string write_prompts(const generate_arguments& a,
                          const std::filesystem::path& folder) {
  if (!a.file.empty() && a.file != "-")
    return std::filesystem::absolute(a.file).string();
  const auto path = folder / "prompts.jsonl";
  std::ofstream out{path};
  if (a.file == "-")
    out << std::cin.rdbuf();
  else
    out << nlohmann::json{{"prompt", a.prompt}}.dump() << '\n';
  return path.string();
}

} // namespace

int run_job_command(const run_arguments& a) {
  const auto job = runtime::config::read_job(a.file, a.overrides);
  runtime::config::check_training(job, a.file);
  if (a.is_dry) {
    std::cout << runtime::config::write_resolved(job);
    print_plan(job, std::cout);
    return 0;
  }
  const auto directory = outputs::run_directory::open(
    job.run.directory,
    a.is_resuming ? outputs::open_mode::resume : outputs::open_mode::fresh);
  return launch(directory, job, "run", a.is_resuming);
}

int generate_command(const generate_arguments& a) {
  if (!runtime::tokenizer::is_utf8(a.prompt))
    throw failure(errc::config_wrong_type,
                  "troupe generate: --prompt is no UTF-8 text");
  for (const auto& [flag, value] : {std::pair{"--temperature", a.temperature},
                                    std::pair{"--top-p", a.top_p}})
    if (!std::isfinite(value))
      throw failure(errc::config_out_of_range, std::string{"troupe generate: "}
                                                 + flag
                                                 + " must be a finite number");
  if (a.prompt.empty() && a.file.empty())
    throw failure(errc::config_missing_key,
                  "troupe generate: give --prompt TEXT or --file JSONL");
  const scratch_directory scratch;
  nlohmann::json sampling{{"max_new_tokens", a.max_new_tokens},
                          {"temperature", a.temperature}};
  if (a.top_p != 1)
    sampling["top_p"] = a.top_p;
  if (a.top_k != 0)
    sampling["top_k"] = a.top_k;
  return launch_tool(
    {{"run",
      {{"directory", (scratch.path() / "run").string()}, {"seed", a.seed}}},
     {"model", {{"path", std::filesystem::absolute(a.model).string()}}},
     {"data",
      {{"train", {{"file", write_prompts(a, scratch.path())}}},
       {"shuffle", false}}},
     {"rollout", {{"max_prompt_tokens", 4096}, {"sampling", sampling}}},
     {"train", {{"algorithm", "grpo"}, {"steps", 1}}}},
    "generate", a.overrides, scratch);
}

int eval_command(const eval_arguments& arguments) {
  auto a = arguments;
  if (!a.data.empty() && !a.file.empty()) {
    // Without a job, what stands first is an override as well.
    a.overrides.insert(a.overrides.begin(), a.file);
    a.file.clear();
  }
  const scratch_directory scratch;
  const auto run = (scratch.path() / "run").string();
  if (!a.file.empty()) {
    auto job = runtime::config::read_job(a.file, a.overrides);
    if (!job.data.eval)
      throw failure(errc::config_missing_key,
                    a.file
                      + ": data.eval is not set; add data.eval.file, or "
                        "use --model and --data");
    const auto trained = std::filesystem::path{job.run.directory}
                         / std::string{outputs::layout::final_model};
    job.run.directory = run;
    if (!a.model.empty())
      job.model.path = std::filesystem::absolute(a.model).string();
    else if (std::filesystem::exists(trained))
      job.model.path = trained.string();
    if (!a.model.empty() || std::filesystem::exists(trained)) {
      job.model.fresh.reset();
      job.model.tokenizer.clear();
    }
    const auto directory =
      outputs::run_directory::open(run, outputs::open_mode::fresh);
    return launch(directory, job, "eval", false);
  }
  if (a.model.empty() || a.data.empty())
    throw failure(errc::config_missing_key,
                  "troupe eval: give JOB.yaml, or --model DIR and --data FILE");
  const auto data = std::filesystem::absolute(a.data).string();
  return launch_tool(
    {{"run", {{"directory", run}}},
     {"model", {{"path", std::filesystem::absolute(a.model).string()}}},
     {"data", {{"train", {{"file", data}}}, {"eval", {{"file", data}}}}},
     {"train", {{"algorithm", "grpo"}, {"steps", 1}}}},
    "eval", a.overrides, scratch);
}

} // namespace troupe::actors
