// SPDX-License-Identifier: Apache-2.0
#include "runtime/rollout/rollout_request.hpp"

#include "protocols/failure.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace troupe::runtime::rollout {

namespace {

using protocols::errc;
using protocols::failure;

template <class... Parts>
[[noreturn]] void refuse(errc code, const rollout_request& request,
                         const Parts&... parts) {
  std::ostringstream text;
  text << "rollout request of group " << to_string(request.id) << ": ";
  (text << ... << parts);
  throw failure(code, text.str());
}

void check_ids(const rollout_request& request,
               const std::vector<std::int32_t>& ids, const char* name,
               std::int64_t vocab_size) {
  const auto bad = std::find_if(ids.begin(), ids.end(), [&](std::int32_t id) {
    return id < 0 || id >= vocab_size;
  });
  if (bad != ids.end())
    refuse(errc::invalid_request, request, name, '[', bad - ids.begin(),
           "] is ", *bad, "; allowed: 0 to ", vocab_size - 1,
           " (the model's vocabulary)");
}

void check_sampling(const rollout_request& request) {
  const auto& s = request.sampling;
  const auto code = errc::invalid_request;
  if (!(s.temperature >= 0.0F && s.temperature <= 100.0F))
    refuse(code, request, "temperature is ", s.temperature,
           "; allowed: 0 (greedy) to 100");
  if (!(s.top_p > 0.0F && s.top_p <= 1.0F))
    refuse(code, request, "top_p is ", s.top_p,
           "; allowed: above 0, up to 1 (off)");
  if (s.top_k < 0)
    refuse(code, request, "top_k is ", s.top_k, "; allowed: 0 (off) or more");
  if (s.max_new_tokens < 1)
    refuse(code, request, "max_new_tokens is ", s.max_new_tokens,
           "; allowed: 1 or more");
  if (s.min_new_tokens < 0 || s.min_new_tokens > s.max_new_tokens)
    refuse(code, request, "min_new_tokens is ", s.min_new_tokens,
           "; allowed: 0 to max_new_tokens, ", s.max_new_tokens);
}

void check_stop_ids(const rollout_request& request, std::int64_t vocab_size) {
  const auto& s = request.sampling;
  check_ids(request, s.stop_ids, "stop_ids", vocab_size);
  auto distinct = s.stop_ids;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  if (s.min_new_tokens > 0
      && static_cast<std::int64_t>(distinct.size()) >= vocab_size)
    refuse(errc::invalid_request, request,
           "stop_ids are the whole vocabulary, so that min_new_tokens, ",
           s.min_new_tokens, ", leaves nothing to draw");
}

void check_capacity(const rollout_request& request,
                    const request_limits& limits) {
  const auto prompt = static_cast<std::int64_t>(request.prompt_ids.size());
  const auto budget = request.sampling.max_new_tokens;
  const auto allowed =
    std::min(limits.max_positions, limits.slot_capacity_tokens);
  // Not prompt + budget > allowed, which a huge budget overflows.
  if (prompt <= allowed && budget <= allowed - prompt)
    return;
  const bool by_model = limits.max_positions <= limits.slot_capacity_tokens;
  refuse(errc::capacity_exceeded, request, "needs ", prompt,
         " prompt tokens plus max_new_tokens ", budget, "; allowed are ",
         allowed, " in all, the ",
         by_model ? "model's max_positions" : "capacity of a cache slot",
         ". Shorten the prompt, lower max_new_tokens, or ",
         by_model ? "take a model with more positions"
                  : "give the slots more capacity "
                    "(rollout.max_prompt_tokens)");
}

} // namespace

void check_request(const rollout_request& request,
                   const request_limits& limits) {
  const auto code = errc::invalid_request;
  if (request.prompt_ids.empty())
    refuse(code, request, "prompt_ids is empty; allowed: 1 token or more");
  check_ids(request, request.prompt_ids, "prompt_ids", limits.vocab_size);
  if (request.num_samples < 1 || request.num_samples > 65536)
    refuse(code, request, "num_samples is ", request.num_samples,
           "; allowed: 1 to 65536");
  using kernels::purpose;
  if (request.use != purpose::train && request.use != purpose::eval
      && request.use != purpose::generate)
    refuse(code, request, "use is ", static_cast<int>(request.use),
           "; allowed: train, eval, generate");
  if ((request.use == purpose::eval) == request.eval_name.empty())
    refuse(code, request, "eval_name is '", request.eval_name,
           "'; it names the evaluation, and is empty for all other uses");
  check_sampling(request);
  check_stop_ids(request, limits.vocab_size);
  check_capacity(request, limits);
}

kernels::token_coordinates coordinates_of(const rollout_request& request,
                                          std::uint64_t job_seed,
                                          std::uint32_t sample_index,
                                          std::uint32_t position) {
  kernels::token_coordinates at;
  at.job_seed = job_seed;
  at.use = request.use;
  if (request.use == kernels::purpose::eval)
    at.eval_name_hash = eval_name_hash(request.eval_name);
  at.data_pass = request.id.data_pass;
  at.position_in_pass = request.id.position;
  at.attempt = request.id.attempt;
  at.sample_index = sample_index;
  at.position = position;
  return at;
}

std::uint32_t eval_name_hash(std::string_view name) {
  std::uint32_t hash = 0x811c9dc5U;
  for (const char c : name)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193U;
  return hash == 0 ? 1 : hash;
}

} // namespace troupe::runtime::rollout
