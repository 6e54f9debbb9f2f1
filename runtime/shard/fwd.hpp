// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace troupe::runtime::shard {

class parameter;
class parameter_factory;
class parameter_source;
class sharding_context;
struct parameter_spec;
struct rank_group;

} // namespace troupe::runtime::shard
