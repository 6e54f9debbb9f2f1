# SPDX-License-Identifier: Apache-2.0
"""samples/addition.yaml reaches what the README says, in the time it says."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TROUPE = os.environ.get("TROUPE_BINARY", str(ROOT / "build/bin/troupe"))


class Addition(unittest.TestCase):
    def test_a_tiny_model_learns_to_add(self):
        with tempfile.TemporaryDirectory(prefix="troupe-test-") as folder:
            run = pathlib.Path(folder) / "run"
            start = time.monotonic()
            subprocess.run(
                [TROUPE, "run", ROOT / "samples/addition.yaml",
                 f"run.directory={run}"], check=True, timeout=900,
                stdout=subprocess.DEVNULL)
            print(f"addition: {time.monotonic() - start:.0f} s")
            shown = subprocess.run(
                [sys.executable, ROOT / "samples/show_run.py", run],
                check=True, text=True, stdout=subprocess.PIPE).stdout
            metrics = json.loads((run / "summary.json").read_text())["metrics"]
            gaps = [json.loads(line).get("rollout/logprob_gap_max", 0)
                    for line in open(run / "metrics.jsonl", encoding="utf-8")]
        print(shown)
        start, warm, final = (
            metrics[f"eval/{when}_accuracy"]
            for when in ("start", "after_warmup", "final"))
        self.assertLess(start, 0.05)
        self.assertTrue(0.3 <= warm <= 0.7, warm)
        self.assertGreaterEqual(final, 0.95)
        self.assertGreaterEqual(final - warm, 0.25)
        self.assertEqual(max(gaps), 0)
        self.assertIn("three generations", shown)


if __name__ == "__main__":
    unittest.main()
