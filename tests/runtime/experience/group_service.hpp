// SPDX-License-Identifier: Apache-2.0
//
// A group store behind an endpoint, as a rank has it.
#pragma once

#include "runtime/experience/group_codec.hpp"
#include "runtime/experience/group_store.hpp"
#include "runtime/transport/frame_endpoint.hpp"

namespace troupe::tests {

inline runtime::transport::frame_endpoint::service_map
serve_groups(runtime::experience::group_store& store) {
  using namespace runtime::experience;
  return {{service_group,
           [&](auto request) {
             auto key = decode_key(request);
             return encode_group(*store.lease(key.id, key.epoch));
           }},
          {service_texts, [&](auto request) {
             auto key = decode_key(request);
             return encode_texts(*store.lease(key.id, key.epoch));
           }}};
}

} // namespace troupe::tests
