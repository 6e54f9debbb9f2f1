// SPDX-License-Identifier: Apache-2.0
#include "runtime/inspect/last_state.hpp"

#include "runtime/inspect/card_path.hpp"
#include "runtime/inspect/card_reader.hpp"
#include "runtime/inspect/text_table.hpp"

#include <algorithm>

namespace troupe::runtime::inspect {

namespace {

void add(std::string& list, const std::string& item) {
  list += (list.empty() ? "" : ", ") + item;
}

/// "rank=ready, rollout=generating": each machine once, the latest move of it.
std::string states_text(const std::vector<const actor_view*>& actors) {
  std::vector<state_view> latest;
  for (const auto* actor : actors)
    for (const auto& state : actor->states) {
      const auto same =
        std::find_if(latest.begin(), latest.end(), [&](const auto& other) {
          return other.machine == state.machine;
        });
      if (same == latest.end())
        latest.push_back(state);
      else if (state.age < same->age)
        *same = state;
    }
  std::string text;
  for (const auto& state : latest)
    // Of interest is what the actors do, not that they are actors.
    if (state.machine != "actor" || latest.size() == 1)
      add(text, state.machine + "=" + state.state);
  return text.empty() ? "none recorded" : text;
}

std::string handlers_text(const std::vector<const actor_view*>& actors) {
  std::string text;
  for (const auto* actor : actors)
    if (!actor->handler.empty())
      add(text, actor->handler + " (" + actor->name + ") for "
                  + age_text(actor->activity_age));
  return text.empty() ? "in no handler" : "in handler " + text;
}

std::string error_text(const std::vector<const actor_view*>& actors) {
  std::string text;
  for (const auto* actor : actors)
    if (!actor->last_error.empty())
      add(text, one_line(actor->last_error) + " (" + actor->name + ")");
  return text.empty() ? "none" : text;
}

} // namespace

std::string describe_last_state(const std::filesystem::path& run_dir,
                                std::string_view process,
                                std::string_view what_happened) {
  const auto view = read_card_file(card_path(run_dir, process));
  std::string text{process};
  if (!view.unreadable)
    text += " (pid " + std::to_string(view.pid) + ")";
  if (!what_happened.empty())
    text += " " + std::string{what_happened};
  else if (!view.end.empty())
    text += " ended: " + one_line(view.end);
  else
    text += " is " + std::string{to_string(view.life)};
  if (view.unreadable)
    return text + "; no card: " + view.file.string() + ": " + *view.unreadable;
  std::vector<const actor_view*> actors;
  for (const auto& actor : view.actors)
    if (!actor.ended && actor.kind != "journal")
      actors.push_back(&actor);
  if (!view.state.empty())
    text += "; it was " + one_line(view.state);
  return text + "; last state: " + states_text(actors) + "; "
         + handlers_text(actors) + "; last error: " + error_text(actors);
}

} // namespace troupe::runtime::inspect
