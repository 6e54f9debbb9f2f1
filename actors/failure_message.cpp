// SPDX-License-Identifier: Apache-2.0
#include "actors/failure_message.hpp"

#include "protocols/message_types.hpp"

#include <caf/exit_reason.hpp>
#include <caf/message.hpp>
#include <caf/sec.hpp>
#include <caf/string_algorithms.hpp>

#include <cstdint>
#include <filesystem>
#include <new>
#include <utility>

namespace troupe::actors {

using protocols::errc;
using protocols::failure;

namespace {

const caf::atom_value category = caf::atom("troupe");

bool is_ours(const caf::error& e) {
  return e && e.category() == category // an empty one has no category
         && e.context()
              .match_elements<protocols::failed, protocols::envelope>();
}

/// Takes what `text` may have of `left`, and that away from it.
std::string cut(const std::string& text, std::size_t& left) {
  if (text.size() <= left) {
    left -= text.size();
    return text;
  }
  auto kept = std::exchange(left, 0);
  while (kept > 0 && (text[kept] & 0xC0) == 0x80) // not within a character
    --kept;
  return text.substr(0, kept) + " [" + std::to_string(text.size() - kept)
         + " bytes cut]";
}

} // namespace

protocols::failed to_message(const failure& what) {
  auto left = max_failure_bytes;
  protocols::failed out{
    static_cast<std::uint16_t>(what.code()), cut(what.what(), left), {}};
  for (const auto& cause : what.causes())
    out.causes.push_back(cut(cause, left));
  return out;
}

failure to_failure(const protocols::failed& message) {
  return {static_cast<errc>(message.code), message.text, message.causes};
}

caf::error to_error(const failure& what, const protocols::envelope& around) {
  return caf::error{1, category, caf::make_message(to_message(what), around)};
}

protocols::envelope envelope_of(const caf::error& e) {
  return is_ours(e) ? e.context().get_as<protocols::envelope>(1)
                    : protocols::envelope{};
}

failure to_failure(const caf::error& e, std::string_view asked) {
  const std::string who{asked};
  if (!e)
    return {errc::peer_gone, who + ": ended"};
  if (is_ours(e))
    return to_failure(e.context().get_as<protocols::failed>(0));
  if (e.category() == category)
    return {errc::internal, who + ": an error without its text"};
  if (e.category() == caf::atom("system")) {
    const auto code = static_cast<caf::sec>(e.code());
    if (code == caf::sec::request_timeout)
      return {errc::deadline_exceeded, who + ": no answer within the deadline"};
    return {errc::peer_gone, who + ": " + caf::to_string(code)};
  }
  if (e.category() == caf::atom("exit"))
    return {errc::peer_gone,
            who + ": ended ("
              + caf::to_string(static_cast<caf::exit_reason>(e.code())) + ")"};
  return {errc::internal, who + ": error " + std::to_string(e.code())};
}

failure to_failure(const std::exception& e) {
  if (const auto* known = dynamic_cast<const failure*>(&e))
    return *known;
  if (dynamic_cast<const std::bad_alloc*>(&e) != nullptr)
    return {errc::io_failed, "no more memory for this process; see ulimit -v "
                             "and the memory that troupe run --dry-run names"};
  if (const auto* file =
        dynamic_cast<const std::filesystem::filesystem_error*>(&e))
    return {errc::io_failed,
            file->path1().string() + ": " + file->code().message()};
  return {errc::internal, e.what()};
}

} // namespace troupe::actors
