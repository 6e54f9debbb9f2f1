// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace troupe::kernels {

/// The settings of one update in the form that each element needs.
struct adamw_factors {
  float grad_scale = 1;
  float decay = 1;        ///< 1 - rate * weight_decay
  float step_size = 0;    ///< rate / (1 - beta1^step)
  float inverse_root = 1; ///< 1 / sqrt(1 - beta2^step)
  float epsilon = 0;
  float beta1_rest = 0; ///< 1 - beta1
  float beta2 = 0;
  float beta2_rest = 0; ///< 1 - beta2
};

} // namespace troupe::kernels
