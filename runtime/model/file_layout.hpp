// SPDX-License-Identifier: Apache-2.0
//
// How the files of a family name and lay out a decoder's parameters, whose own
// names are those of Llama's files. A tensor of a file may be turned, or hold
// several parameters.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace troupe::runtime::model {

/// One parameter, or several of one tensor.
struct layout_rule {
  std::string_view ours;   ///< below the body or a layer: self_attn.q_proj
  std::string_view theirs; ///< attn.c_attn
  bool is_turned = false;  ///< matrices stand as [in, out]
  std::int64_t part = 0, num_parts = 1; ///< of rows of one tensor
  bool is_by_head = false;              ///< parts alternate head by head
};

/// A family whose files have our names has none.
struct file_layout {
  std::string_view body;   ///< in place of "model"
  std::string_view layers; ///< in place of "layers"
  std::string_view head;   ///< in place of "lm_head"
  std::span<const layout_rule> rules;
};

/// Where a parameter stands.
struct file_place {
  std::string name; ///< of the file's tensor
  bool is_turned = false;
  std::int64_t part = 0, num_parts = 1;
  std::int64_t block_rows = 0; ///< of a part, before the next part; 0: all
};

/// Returns the place of a parameter with a dotted name such as
/// model.layers.0.self_attn.q_proj.weight. `layout` may be null.
file_place place_of(const file_layout* layout, std::string_view parameter,
                    std::int64_t head_width);

/// True for what files of some families hold and no parameter is: masks of
/// attention, frequencies of RoPE.
bool is_derived_tensor(std::string_view name);

} // namespace troupe::runtime::model
