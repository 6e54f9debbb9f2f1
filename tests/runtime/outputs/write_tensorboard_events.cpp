// SPDX-License-Identifier: Apache-2.0
//
// Writes two event files into a folder, the second of a resumed run, for
// read_events.py.
#include "runtime/outputs/tensorboard_writer.hpp"

#include <limits>

using namespace troupe::runtime::outputs;

namespace {

metric_record record_of(std::int64_t step, double loss) {
  return {step, stage::train, {{"train/loss", loss}, {"reward/mean", 0.25}}};
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 2)
    return 2;
  double now = 1700000000;
  const auto clock = [&now] { return now += 1; };
  {
    tensorboard_writer first{argv[1], {}, clock};
    first.write(record_of(1, 4.5));
    first.write(record_of(2, std::numeric_limits<double>::quiet_NaN()));
    first.write(record_of(3, 99));
  }
  tensorboard_writer resumed{argv[1], 2, clock};
  resumed.write(record_of(3, 1.5));
  resumed.write(record_of(300, 1e-3));
}
