// SPDX-License-Identifier: Apache-2.0
#include "actors/reward_pool.hpp"

#include "actors/actor_base.hpp"
#include "actors/real.hpp"
#include "runtime/experience/group_codec.hpp"
#include "runtime/process/worker_pool.hpp"
#include "runtime/reward/grader.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace troupe::actors {

namespace {

using namespace protocols;
using runtime::config::deadline;
using runtime::experience::rollout_group;
namespace workers = runtime::process;

constexpr std::size_t max_group_bytes = std::size_t{1} << 30;
/// Groups that are pulled and graded at a time; the transport refuses more than
/// 64 transfers.
constexpr std::size_t max_pulls = 32;
/// Errors told of one request, the first of as many groups, and their length;
/// all are counted, and whole in the workers' logs. Together 4 KiB of the
/// message's 64.
constexpr std::size_t max_errors = 8, max_error_chars = 400;

std::chrono::milliseconds
call_patience(const runtime::config::reward_block& reward, double scale) {
  return std::chrono::milliseconds{
    static_cast<std::int64_t>(reward.timeout_s * 1000 * scale)};
}

class reward_pool : public actor_base<reward_pool_actor> {
public:
  reward_pool(caf::actor_config& config, control_context& control)
    : actor_base(config, control.process,
                 {"reward_pool", "reward_pool", "coordinator"}),
      control_(control) {
    const auto& reward = control.config.reward;
    if (reward.kind != "python") {
      grader_ = runtime::reward::make_grader(reward.kind);
      return;
    }
    workers::worker_pool_options options;
    options.num_workers = static_cast<int>(reward.workers);
    options.functions = {reward.python};
    options.python = reward.interpreter;
    options.deadline_scale = control.process.deadline_scale;
    options.start_deadline = control.process.patience(deadline::worker_start);
    workers_ = std::make_unique<workers::worker_pool>(
      options,
      workers::start_by_launcher(control.launcher, options.deadline_scale));
  }

  behavior_type make_behavior() override {
    started();
    return {on(&reward_pool::on_grade), on_continuation()};
  }

  void on_exit() override {
    workers_.reset();
    actor_base::on_exit();
  }

private:
  /// One request on its way: as many groups as there are workers are pulled
  /// and graded at a time.
  struct job {
    grade request;
    open_request<graded> answer;
    graded reply; ///< in the order of the request
    std::size_t next = 0, num_done = 0;
    bool is_refused = false;
  };

  caf::result<graded> on_grade(grade& request) {
    auto j = std::make_shared<job>(job{request, open<graded>(), {}});
    j->reply.groups.resize(request.ids.size());
    const auto answer = j->answer.result();
    if (request.ids.empty() && workers_)
      answer_when_ready(j);
    else if (request.ids.empty())
      j->answer.answer({});
    const auto at_once = std::min(
      max_pulls,
      static_cast<std::size_t>(workers_ ? control_.config.reward.workers : 1));
    for (std::size_t i = 0; i < std::min(at_once, request.ids.size()); ++i)
      next_group(j);
    return answer;
  }

  /// A function that cannot be loaded is found here, not after the warm-up.
  void answer_when_ready(const std::shared_ptr<job>& j) {
    workers_->when_ready([this, self = address(), j,
                          around = seal()](const std::optional<failure>& why) {
      come_back(
        self, "workers_ready",
        [this, j, why] {
          if (why)
            j->answer.refuse(
              failure(errc::reward_failed,
                      "reward.python: " + control_.config.reward.python
                        + " cannot be used; allowed: a Python function that "
                        + control_.config.reward.interpreter + " can load",
                      *why));
          else
            j->answer.answer({});
        },
        around);
    });
  }

  void next_group(const std::shared_ptr<job>& j) {
    if (j->is_refused || j->next == j->request.ids.size())
      return;
    const auto index = j->next++;
    const auto key = runtime::experience::encode_key(
      {j->request.ids[index], process_.epoch.load()});
    control_.data_plane->fetch_async(
      runtime::experience::service_group, key, max_group_bytes,
      process_.patience(deadline::experience),
      [this, self = address(), j, index,
       around = seal()](runtime::transport::fetch_result got) {
        auto shared =
          std::make_shared<runtime::transport::fetch_result>(std::move(got));
        come_back(
          self, "group_pulled",
          [this, j, index, shared] { take_group(j, index, *shared); }, around);
      });
  }

  /// Once; what the other workers say then is too late.
  static void refuse(const std::shared_ptr<job>& j, const failure& why) {
    if (!std::exchange(j->is_refused, true))
      j->answer.refuse(why);
  }

  void take_group(const std::shared_ptr<job>& j, std::size_t index,
                  const runtime::transport::fetch_result& got) {
    if (got.error) {
      refuse(j, *got.error);
      return;
    }
    try {
      grade_group(j, index, runtime::experience::decode_group(got.payload));
    } catch (const std::exception& e) {
      refuse(j, to_failure(e));
    }
  }

  void grade_group(const std::shared_ptr<job>& j, std::size_t index,
                   const rollout_group& group) {
    std::vector<std::string> texts;
    for (const auto& s : group.samples)
      texts.push_back(control_.prompts.words().decode(
        s.completion_ids, runtime::tokenizer::special_tokens::skip));
    control_.texts.put(group.id, texts);
    const auto row = control_.prompts.text(j->request.split, group.id);
    if (grader_) {
      std::vector<workers::grade_result> results;
      for (const auto& text : texts)
        results.push_back(
          {.reward = static_cast<double>(grader_->grade(text, row.answer))});
      group_done(j, index, results);
      return;
    }
    workers::grade_request call;
    call.function = control_.config.reward.python;
    call.columns["answers"].assign(texts.size(), row.answer);
    call.columns["prompts"].assign(texts.size(), row.prompt);
    call.completions = std::move(texts);
    const auto patience =
      call_patience(control_.config.reward, process_.deadline_scale);
    workers_->grade(std::move(call), patience,
                    [this, self = address(), j, index, around = seal()](
                      std::vector<workers::grade_result> results) {
                      come_back(
                        self, "graded_by_worker",
                        [this, j, index, results = std::move(results)] {
                          group_done(j, index, results);
                        },
                        around);
                    });
  }

  void group_done(const std::shared_ptr<job>& j, std::size_t index,
                  const std::vector<workers::grade_result>& results) {
    if (j->is_refused)
      return;
    const auto& id = j->request.ids[index];
    graded_group made{id, {}};
    bool is_told = j->reply.errors.size() >= max_errors;
    for (const auto& r : results) {
      if (r.reward) {
        made.rewards.push_back(to_real(*r.reward));
        continue;
      }
      const failure why(r.code, r.error);
      note(why);
      if (control_.config.reward.on_error == "stop") {
        refuse(j, failure(errc::reward_failed,
                          "group " + to_string(id)
                            + ": the reward failed and reward.on_error is stop",
                          why));
        return;
      }
      ++j->reply.num_failed;
      if (!std::exchange(is_told, true))
        j->reply.errors.push_back("reward of group " + to_string(id) + ": "
                                  + r.error.substr(0, max_error_chars));
      made.rewards.push_back(
        to_real(control_.config.reward.on_error == "drop"
                  ? std::numeric_limits<double>::quiet_NaN()
                  : 0.0));
    }
    j->reply.groups[index] = std::move(made);
    if (++j->num_done == j->request.ids.size())
      j->answer.answer(std::move(j->reply));
    else
      next_group(j);
  }

  control_context& control_;
  std::unique_ptr<runtime::reward::grader> grader_;
  std::unique_ptr<workers::worker_pool> workers_;
};

} // namespace

std::chrono::milliseconds
grade_patience(const runtime::config::reward_block& reward,
               std::size_t num_groups, double deadline_scale) {
  using runtime::config::duration_of;
  const auto row = duration_of(deadline::grade, deadline_scale);
  if (reward.kind != "python")
    return row;
  const auto at_once =
    std::min(max_pulls, static_cast<std::size_t>(reward.workers));
  const auto calls =
    static_cast<std::int64_t>((num_groups + at_once - 1) / at_once);
  // A call that is cut off costs its worker, which is started again.
  const auto start = duration_of(deadline::worker_start, deadline_scale);
  return std::max(
    row, start + calls * (call_patience(reward, deadline_scale) + start));
}

reward_pool_actor spawn_reward_pool(caf::actor_system& system,
                                    control_context& control) {
  return system.spawn<reward_pool>(std::ref(control));
}

} // namespace troupe::actors
