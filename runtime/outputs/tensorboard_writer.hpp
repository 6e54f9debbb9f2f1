// SPDX-License-Identifier: Apache-2.0
//
// Scalars for TensorBoard: one event file a process start. Records are framed
// as TFRecords: length, masked CRC32C of it, protobuf Event, masked CRC32C.
// Source: tensorflow/core/lib/io/record_writer.h, event.proto, summary.proto.
#pragma once

#include "runtime/outputs/metrics_writer.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string_view>

namespace troupe::runtime::outputs {

class tensorboard_writer {
public:
  /// Seconds since 1970.
  using wall_clock = std::function<double()>;

  /// Makes an event file in `directory`. `resumed_step`: TensorBoard is told
  /// to drop what earlier files hold after that step.
  /// Errors: io_failed.
  explicit tensorboard_writer(const std::filesystem::path& directory,
                              std::optional<std::int64_t> resumed_step = {},
                              wall_clock clock = system_seconds);

  /// Writes each metric as a scalar (float32) at record.step, and flushes.
  void write(const metric_record& record);

  [[nodiscard]] const std::filesystem::path& path() const noexcept {
    return path_;
  }

  static double system_seconds();

private:
  void write_event(std::string_view event);

  wall_clock clock_;
  std::filesystem::path path_;
  std::ofstream out_;
};

} // namespace troupe::runtime::outputs
