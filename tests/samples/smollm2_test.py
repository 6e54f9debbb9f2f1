# SPDX-License-Identifier: Apache-2.0
"""samples/smollm2.yaml learns with each of three seeds. Needs the venv's
Python with the packages of TROUPE_FULL."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TROUPE = os.environ.get("TROUPE_BINARY", str(ROOT / "build/bin/troupe"))


def mean(values):
    return sum(values) / len(values)


class SmolLM2(unittest.TestCase):
    def test_the_reward_rises_with_each_of_three_seeds(self):
        with tempfile.TemporaryDirectory(prefix="troupe-test-") as name:
            folder = pathlib.Path(name)
            shutil.copy(ROOT / "samples/smollm2.yaml", folder)
            subprocess.run(
                [sys.executable, ROOT / "samples/smollm2/prepare.py",
                 folder / "smollm2/data"], check=True)
            for seed in (1, 2, 3):
                run = folder / f"seed-{seed}"
                subprocess.run(
                    [TROUPE, "run", folder / "smollm2.yaml",
                     f"run.directory={run}", f"run.seed={seed}"],
                    check=True, timeout=3600, stdout=subprocess.DEVNULL)
                records = [json.loads(line) for line in
                           (run / "metrics.jsonl").read_text().splitlines()]
                rewards = [r["reward/mean"] for r in records
                           if "reward/mean" in r]
                heldout = [r["eval/heldout_accuracy"] for r in records
                           if "eval/heldout_accuracy" in r]
                first, last = mean(rewards[:5]), mean(rewards[-5:])
                print(f"seed {seed}: mean reward of five steps {first:.3f} -> "
                      f"{last:.3f}, held-out rows, greedy {heldout[0]:.3f} -> "
                      f"{heldout[-1]:.3f}", flush=True)
                self.assertEqual(len(rewards), 30)
                self.assertTrue(0.1 <= first <= 0.6, first)
                self.assertGreaterEqual(last - first, 0.1)


if __name__ == "__main__":
    unittest.main()
