// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/process_context.hpp"
#include "protocols/failure.hpp"
#include "protocols/message_types.hpp"

#include <caf/binary_serializer.hpp>

#include <string>
#include <vector>

namespace troupe::actors {

/// Counts a message that is about to be sent and holds its size against
/// max_message_bytes. Errors: message_too_large, naming type and bytes.
template <class Message>
void count_message(process_context& process, caf::actor_system& system,
                   Message& message) {
  std::vector<char> bytes;
  caf::binary_serializer sink{system, bytes};
  if (auto e = sink(message))
    throw protocols::failure(protocols::errc::internal,
                             std::string{caf::type_name<Message>::value}
                               + " cannot be serialised");
  if (bytes.size() > max_message_bytes)
    throw protocols::failure(protocols::errc::message_too_large,
                             std::string{caf::type_name<Message>::value}
                               + " takes " + std::to_string(bytes.size())
                               + " bytes, allowed: "
                               + std::to_string(max_message_bytes)
                               + "; ask for fewer groups at a time");
  process.num_messages.fetch_add(1, std::memory_order_relaxed);
  auto largest = process.largest_message_bytes.load();
  while (bytes.size() > largest
         && !process.largest_message_bytes.compare_exchange_weak(
           largest, bytes.size())) {
  }
}

} // namespace troupe::actors
