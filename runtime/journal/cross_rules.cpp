// SPDX-License-Identifier: Apache-2.0
#include "runtime/journal/cross_rules.hpp"

#include "runtime/journal/check.hpp"

namespace troupe::runtime::journal {

namespace {

std::string coordinates_of(const std::string& subject) {
  const auto slash = subject.find('/');
  return slash == std::string::npos ? std::string{} : subject.substr(slash + 1);
}

} // namespace

std::string cross_rules::state_of(const std::string& kind,
                                  const std::string& coordinates) const {
  const auto it = states_.find({kind, coordinates});
  return it == states_.end() ? std::string{} : it->second;
}

void cross_rules::check(const entry& r, std::vector<finding>& out) {
  const auto& what = r.what;
  const auto where = coordinates_of(what.subject);
  const auto add = [&](const char* rule, const std::string& text) {
    out.push_back({reference(r), rule, what.subject + ": " + text});
  };
  if (what.kind == "rollout" && what.to == "generating") {
    const auto weights = state_of("weights", where);
    if (weights == "training" || weights == "torn")
      add("weights", "generates while its weights are " + weights);
    const auto cache = state_of("cache", where);
    if (cache == "parked" || cache == "released" || cache == "closed")
      add("cache", "generates while its cache is " + cache);
  } else if (what.kind == "weights" && what.to == "training") {
    if (state_of("rollout", where) == "generating")
      add("weights", "an update begins while the rollout is generating");
  } else if (what.kind == "group" && what.event == "group_dispatched") {
    const auto shutdown = state_of("shutdown", {});
    if (!shutdown.empty() && shutdown != "idle")
      add("admission", "dispatched while the shutdown is in " + shutdown);
  }
  if (what.kind == "shutdown")
    states_[{what.kind, {}}] = what.to;
  else if (what.kind == "rollout" || what.kind == "weights"
           || what.kind == "cache")
    states_[{what.kind, where}] = what.to;
}

} // namespace troupe::runtime::journal
