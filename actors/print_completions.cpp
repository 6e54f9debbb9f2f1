// SPDX-License-Identifier: Apache-2.0
#include "actors/print_completions.hpp"

#include "runtime/job_api/evaluate.hpp"

#include <nlohmann/json.hpp>

#include <ostream>

namespace troupe::actors {

namespace {

using runtime::job_api::group;
using runtime::job_api::metrics;

/// Prompts of one request: its answer stays far below 64 KiB.
constexpr std::size_t batch_prompts = 64;

} // namespace

void print_completions(runtime::job_api::job& job, control_context& control,
                       std::ostream& out) {
  const auto count = control.prompts.num_rows();
  for (std::size_t begin = 0; begin < count; begin += batch_prompts) {
    const auto ids =
      job.take_prompts("train", std::min(batch_prompts, count - begin));
    metrics values;
    auto groups =
      job.generate(ids, {"generate", 1, job.config().rollout.sampling}, values);
    groups = job.grade(std::move(groups), "generate", values);
    for (const auto& g : groups) {
      const auto texts = control.texts.get(g.id);
      if (count == 1) {
        out << texts.at(0) << '\n';
        continue;
      }
      const auto row = control.prompts.text("generate", g.id);
      out << nlohmann::json{{"prompt", row.prompt},
                            {"completion", texts.at(0)},
                            {"num_tokens", g.num_tokens.at(0)},
                            {"finish",
                             runtime::experience::to_string(g.finish.at(0))}}
               .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
          << '\n';
    }
    job.consume(groups);
  }
}

metrics print_evaluation(runtime::job_api::job& job, std::ostream& out) {
  auto values = runtime::job_api::evaluate(job, "heldout");
  out << nlohmann::json(values).dump(2) << '\n';
  return values;
}

} // namespace troupe::actors
