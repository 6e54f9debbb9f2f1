# SPDX-License-Identifier: Apache-2.0
"""A job from its first line to its last file, and again by resume."""
import filecmp
import os
import pathlib
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support.job import ROOT, JobTest, troupe  # noqa: E402

TIMES = ("time/", "throughput/", "memory/")


def without_times(records):
    return [{k: v for k, v in r.items() if not k.startswith(TIMES)}
            for r in records]


class CleanRun(JobTest):
    def test_a_run_leaves_everything_and_nobody(self):
        job = self.start(**{"train.steps": 3, "sft_warmup.steps": 2,
                            "run.save_every_steps": 2})
        self.assert_clean(job)
        summary = job.summary()
        self.assertEqual((summary["status"], summary["exit_code"]),
                         ("completed", 0))
        self.assertEqual(summary["steps"], 5)
        self.assertEqual(summary["policy_version"], 5)
        self.assertEqual(job.checkpoints(), ["step-4", "step-5"])
        for name in ("resolved.yaml", "metrics.jsonl", "rollouts.jsonl",
                     "final/model.safetensors", "final/tokenizer.json"):
            self.assertTrue((job.directory / name).exists(), name)
        self.assertTrue(any((job.directory / "tensorboard").iterdir()))
        steps = [r["step"] for r in job.metrics() if r["stage"] != "eval"]
        self.assertEqual(steps, [1, 2, 3, 4, 5])
        gaps = [r["rollout/logprob_gap_max"] for r in job.metrics()
                if "rollout/logprob_gap_max" in r]
        self.assertEqual(gaps, [0.0] * 3)
        self.assertLess(summary["metrics"]["control/largest_message_bytes"],
                        65536)
        self.causes_lead_from_weights_to_command(job)

    def causes_lead_from_weights_to_command(self, job):
        chain = self.chain_of(job, "parameter_shard/dp=0/tp=0",
                              event="update_finished")
        self.assert_in_order(chain, [
            "weights training -> inference  by update_finished",
            "because: message end_update from trainer/dp=0/tp=0",
            "weights inference -> training  by update_requested",
            "because: message begin_update from trainer/dp=0/tp=0",
            "actor ready -> busy  by request_accepted",
            "because: message train from loop",
            "loop  script train  step 5",
            "because: rule the loop's program"])

    def test_clean_runs_say_nothing(self):
        for _ in range(20 if os.environ.get("TROUPE_FULL") else 4):
            job = self.start(**{"train.steps": 1})
            self.assert_clean(job)
            self.assertEqual(
                (job.directory / "logs/rank-0.log").read_text(), "")
            for path in sorted(job.directory.rglob("*"), reverse=True):
                path.unlink() if path.is_file() else path.rmdir()

    def test_a_killed_and_resumed_run_equals_a_whole_one(self):
        settings = {"train.steps": 38, "sft_warmup.steps": 2,
                    "run.save_every_steps": 10, "train.minibatches": 2,
                    "run.keep_checkpoints": 10}  # step-10, however late the kill
        whole = self.start(**settings)
        self.assert_clean(whole)
        whole_metrics = without_times(whole.metrics())
        whole_rollouts = (whole.directory / "rollouts.jsonl").read_text()
        whole.directory.rename(pathlib.Path(self.folder) / "whole")

        first = self.start(**settings)
        first.wait_for(" 12/40")
        for pid in first.processes():
            os.kill(pid, signal.SIGKILL)
        self.assertNotEqual(first.end(), 0, "it had ended before the kill")
        first.await_nothing_left()
        self.assertIn("step-10", first.checkpoints())
        second = self.start("--resume", **settings)
        self.assert_clean(second)

        self.assertEqual(without_times(second.metrics()), whole_metrics)
        self.assertEqual((second.directory / "rollouts.jsonl").read_text(),
                         whole_rollouts)
        weights = "final/model.safetensors"
        self.assertTrue(filecmp.cmp(
            pathlib.Path(self.folder) / "whole" / weights,
            second.directory / weights, shallow=False))

    def test_a_run_directory_in_use_or_used_is_refused(self):
        job = self.start(**{"train.steps": 1})
        self.assert_clean(job)
        again = self.start(**{"train.steps": 1})
        self.assertEqual(again.end(), 2)
        self.assertIn("run", again.errors())
        empty = troupe("run", "missing.yaml", cwd=self.folder)
        self.assertEqual(empty.returncode, 2)
        self.assertIn("missing.yaml", empty.stderr)

    def test_zero_learning_rate_changes_nothing(self):
        data = ROOT / "samples/addition/train.jsonl"
        batch = pathlib.Path(self.folder) / "batch.jsonl"
        with open(data, encoding="utf-8") as lines:
            batch.write_text("".join(next(lines) for _ in range(4)))
        job = self.start(**{
            "data.train.file": batch,  # each step has these four prompts
            "train.steps": 50, "train.optimizer.learning_rate": 0,
            "run.save_every_steps": 1, "run.keep_checkpoints": 60})
        self.assert_clean(job)
        names = [f"checkpoints/step-{i}/model.safetensors" for i in (1, 50)]
        self.assertTrue(filecmp.cmp(job.directory / names[0],
                                    job.directory / names[1], shallow=False))
        gaps = {r["rollout/logprob_gap_max"] for r in job.metrics()
                if "rollout/logprob_gap_max" in r}
        self.assertEqual(gaps, {0.0})

    def broken_model(self):
        """The keys of a model with one weight that is no number."""
        made = self.start(**{"train.steps": 1})
        self.assert_clean(made)
        model = pathlib.Path(self.folder) / "broken"
        (made.directory / "final").rename(model)
        with open(model / "model.safetensors", "r+b") as weights:
            weights.seek(-4, os.SEEK_END)
            weights.write(b"\x00\x00\xc0\x7f")  # a NaN
        for path in sorted(made.directory.rglob("*"), reverse=True):
            path.unlink() if path.is_file() else path.rmdir()
        return {"model.path": model, "model.fresh": "null",
                "model.fresh.max_positions": None, "model.tokenizer": "null"}

    def test_losses_that_are_not_finite_are_skipped_then_end_the_run(self):
        job = self.start(**self.broken_model(), **{
            "sft_warmup.steps": 20, "sft_warmup.batch_size": 4,
            "data.eval.file": None, "eval.max_prompts": None,
            "eval.sampling.max_new_tokens": None,
            "train.steps": 20, "train.max_nonfinite_steps": 3})
        self.assertEqual(job.end(), 1, job.errors())
        self.assertIn("train.max_nonfinite_steps = 3", job.errors())
        self.assertTrue(any("update skipped (1 in a row)" in line
                            for line in job.lines), job.lines)
        self.assertEqual(job.summary()["status"], "failed")
        job.await_nothing_left()

    def test_a_model_that_gives_no_number_generates_nothing(self):
        job = self.start(**self.broken_model(), **{"train.steps": 20})
        self.assertEqual(job.end(), 1)
        self.assertIn("troupe: group 0/0/0, sample 0, completion token 0: the "
                      "model gives no finite logits", job.errors())
        self.assertEqual(job.summary()["steps"], 0)
        job.await_nothing_left()

    def test_memory_is_flat(self):
        job = self.start(**{"train.steps": 300, "eval.max_prompts": 1})
        launcher = []
        for step in range(50, 291):
            job.wait_for(f" {step}/300")
            pages = int(pathlib.Path(f"/proc/{job.process.pid}/statm")
                        .read_text().split()[1])
            launcher.append(pages * 4)
        self.assert_clean(job)
        kib = {"launcher": launcher}
        for name in ("coordinator", "rank-0"):
            key = f"memory/{name}_rss_bytes"
            kib[name] = [r[key] / 1024 for r in job.metrics()
                         if key in r and r["step"] >= 50]
        for name, values in kib.items():
            n = len(values)
            self.assertGreater(n, 200, name)
            mean_x, mean_y = (n - 1) / 2, sum(values) / n
            slope = (sum((x - mean_x) * (y - mean_y)
                         for x, y in enumerate(values))
                     / sum((x - mean_x) ** 2 for x in range(n)))
            self.assertLess(slope, 20, f"{name} grows {slope:.1f} KiB a step")


if __name__ == "__main__":
    unittest.main()
