# SPDX-License-Identifier: Apache-2.0
"""Holds event files of ours against TensorBoard's reader. Exit code 77: the
package is not there."""
import math
import subprocess
import sys
import tempfile

try:
    from tensorboard.backend.event_processing import event_accumulator
except ImportError:
    sys.exit(77)

with tempfile.TemporaryDirectory() as folder:
    subprocess.run([sys.argv[1], folder], check=True)
    events = event_accumulator.EventAccumulator(folder)
    events.Reload()
    assert sorted(events.Tags()["scalars"]) == ["reward/mean", "train/loss"]
    loss = [(e.step, e.value, e.wall_time) for e in events.Scalars("train/loss")]
    print(loss)
    assert [step for step, _, _ in loss] == [1, 2, 3, 300]
    assert loss[0][1] == 4.5 and math.isnan(loss[1][1])
    assert loss[2][1] == 1.5, "the resumed run's step 3 replaces the first one's"
    assert abs(loss[3][1] - 1e-3) < 1e-9
    assert loss[0][2] == 1700000002
    assert [e.value for e in events.Scalars("reward/mean")] == [0.25] * 4
