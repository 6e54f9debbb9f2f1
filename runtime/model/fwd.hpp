// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace troupe::runtime::model {

class decoder;
class engine;
class module;
class module_registry;
class name_map;
class optimizer;
class resource_scope;
struct cached_rows;
struct decoder_config;
struct forward_context;
struct module_arguments;
struct packed_sequences;
struct row_range;

} // namespace troupe::runtime::model
