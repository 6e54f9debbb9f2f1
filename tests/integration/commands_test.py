# SPDX-License-Identifier: Apache-2.0
"""The commands beside `run`, and what `run` refuses before it starts."""
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support.job import ROOT, TINY, JobTest, troupe  # noqa: E402

DATA = ROOT / "samples/addition"


class Commands(JobTest):
    def setUp(self):
        super().setUp()
        self.path = pathlib.Path(self.folder)

    def write(self, name, *rows):
        path = self.path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    def make_model(self):
        job = self.start(**{"train.steps": 1})
        self.assert_clean(job)
        return job.directory / "final"

    def refused(self, code, *texts, **overrides):
        job = self.start(**{"train.steps": 1, **overrides})
        self.assertEqual(job.end(), code, job.errors())
        for text in texts:
            self.assertIn(text, job.errors())
        job.await_nothing_left()

    def test_generate_answers_in_the_order_of_the_prompts(self):
        model = self.make_model()
        rows = [{"prompt": f"{i}+1=", "answer": ""} for i in range(5)]
        file = self.write("prompts.jsonl", *rows)
        greedy = ["generate", "--model", model, "--file", file,
                  "--max-new-tokens", 4, "--temperature", 0]
        first, second = (troupe(*greedy) for _ in range(2))
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertEqual(first.stderr, "")
        lines = [json.loads(line) for line in first.stdout.splitlines()]
        self.assertEqual([line["prompt"] for line in lines],
                         [row["prompt"] for row in rows])
        self.assertTrue(all(1 <= line["num_tokens"] <= 4 for line in lines))
        self.assertEqual(first.stdout, second.stdout)
        sampled = [troupe("generate", "--model", model, "--prompt", "1+1=",
                          "--max-new-tokens", 6, "--temperature", 1,
                          "--seed", seed).stdout for seed in (1, 1, 2)]
        self.assertEqual(sampled[0], sampled[1])
        self.assertNotEqual(sampled[0], sampled[2])
        nothing = troupe("generate", "--model", model)
        self.assertEqual(nothing.returncode, 2)
        self.assertIn("--prompt TEXT or --file JSONL", nothing.stderr)

    def test_eval_reads_a_job_or_a_model_with_data(self):
        model = self.make_model()
        data = DATA / "eval.jsonl"
        alone = troupe("eval", "--model", model, "--data", data,
                       "eval.max_prompts=20", "eval.sampling.max_new_tokens=4")
        self.assertEqual(alone.returncode, 0, alone.stderr)
        values = json.loads(alone.stdout)
        self.assertEqual(values["eval/heldout_prompts"], 20)
        of_job = troupe(
            "eval", TINY, "--model", model, f"data.eval.file={data}",
            "train.steps=1", "eval.max_prompts=20", "run.directory=unused",
            "eval.sampling.max_new_tokens=4", cwd=self.folder)
        self.assertEqual(of_job.returncode, 0, of_job.stderr)
        same = json.loads(of_job.stdout)
        for key in values:
            if not key.startswith("time/"):
                self.assertEqual(values[key], same[key], key)
        self.assertFalse((self.path / "unused").exists())

    def test_a_dry_run_says_what_would_be_and_leaves_nothing(self):
        dry = troupe("run", TINY, "--dry-run", "train.steps=1",
                     "run.directory=dry", cwd=self.folder)
        self.assertEqual(dry.returncode, 0, dry.stderr)
        for text in ("samples_per_prompt: 8", "placement: 1 host, 1 rank",
                     "weights", "KV cache", "activations of a microbatch"):
            self.assertIn(text, dry.stdout)
        self.assertFalse((self.path / "dry").exists())

    def test_what_a_job_cannot_use_is_refused_with_2(self):
        row = {"prompt": "1+1=", "answer": "2"}
        bad = self.write("bad.jsonl", row, {"prompt": 5.5, "reply": "x"})
        self.refused(2, f"{bad}:2:", "answer", **{"data.train.file": bad})

    def test_a_model_that_does_not_fit_its_config_is_refused_with_2(self):
        model = self.make_model()
        self.jobs[-1].directory.rename(self.path / "made")
        model = self.path / "made/final"
        config = json.loads((model / "config.json").read_text())
        config["hidden_size"] *= 2
        (model / "config.json").write_text(json.dumps(config))
        self.refused(2, "model", **{
            "model.path": model, "model.fresh": "null",
            "model.fresh.max_positions": None, "model.tokenizer": "null"})

    def test_greedy_samples_are_refused_for_grpo(self):
        self.refused(2, "rollout.sampling.temperature is 0", "above 0",
                     **{"rollout.sampling.temperature": 0})

    def test_supervised_rows_may_be_as_long_as_the_model_and_no_longer(self):
        rows = self.write("long.jsonl",
                          {"prompt": "1+" * 300, "answer": "2"},
                          {"prompt": "1+1=", "answer": "2"})
        sft = {"train.algorithm": "sft", "train.batch_size": 2,
               "train.samples_per_prompt": None,
               "train.prompts_per_step": None, "data.train.file": rows,
               "data.eval.file": None, "eval.max_prompts": None,
               "eval.sampling.max_new_tokens": None,
               "rollout": "null", "rollout.slots": None,
               "rollout.sampling.max_new_tokens": None}
        self.refused(2, f"{rows}: 1 of 2 prompts with their answers",
                     f"{rows}:1: 602 tokens", "positions", **sft)
        job = self.start(**{**sft, "train.steps": 2,
                            "model.fresh.max_positions": 700})
        self.assertEqual(job.end(), 0, job.errors())


if __name__ == "__main__":
    unittest.main()
