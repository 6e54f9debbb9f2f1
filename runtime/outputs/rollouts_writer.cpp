// SPDX-License-Identifier: Apache-2.0
#include "runtime/outputs/rollouts_writer.hpp"

#include <nlohmann/json.hpp>

namespace troupe::runtime::outputs {

namespace {

/// A JSON text in quotes, U+FFFD for bytes that are no UTF-8.
std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false,
                                   nlohmann::json::error_handler_t::replace);
}

std::string to_json(const logged_sample& sample) {
  return "{\"completion\":" + quoted(sample.completion)
         + ",\"reward\":" + json_number(sample.reward) + ",\"advantage\":"
         + json_number(sample.advantage) + ",\"num_completion_tokens\":"
         + std::to_string(sample.num_completion_tokens)
         + ",\"finish\":" + quoted(sample.finish) + ",\"min_policy_version\":"
         + std::to_string(sample.min_policy_version)
         + ",\"max_policy_version\":"
         + std::to_string(sample.max_policy_version) + '}';
}

} // namespace

std::string to_json(const logged_group& group) {
  auto out = "{\"step\":" + std::to_string(group.step) + ",\"group\":\""
             + to_string(group.id) + "\",\"prompt\":" + quoted(group.prompt)
             + ",\"answer\":" + quoted(group.answer) + ",\"samples\":[";
  for (std::size_t i = 0; i < group.samples.size(); ++i)
    out += (i == 0 ? "" : ",") + to_json(group.samples[i]);
  return out + "]}";
}

} // namespace troupe::runtime::outputs
