# SPDX-License-Identifier: Apache-2.0
"""What cannot work is refused by name before the first step, with exit code 2
and room for the next start; what is done already stays as it was."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support.job import ROOT, TROUPE, JobTest, troupe  # noqa: E402

NO_EVAL = {"data.eval.file": None, "eval.max_prompts": None,
           "eval.sampling.max_new_tokens": None}


class Refusals(JobTest):
    def write(self, name, text):
        path = pathlib.Path(self.folder) / name
        path.write_text(text)
        return path

    def refused(self, *texts, **overrides):
        job = self.start(**{"train.steps": 2, **overrides})
        self.assertEqual(job.end(), 2, job.errors())
        for text in texts:
            self.assertIn(text, job.errors())
        for text in ("was lost", "std::", "/dev/fd"):
            self.assertNotIn(text, job.errors())
        job.await_nothing_left()

    def trained_model(self):
        job = self.start(**{"train.steps": 1})
        self.assert_clean(job)
        model = pathlib.Path(self.folder) / "model"
        (job.directory / "final").rename(model)
        subprocess.run(["rm", "-r", str(job.directory)], check=True)
        return model

    def test_data(self):
        row = '{"prompt": "1+1=", "answer": "2"}\n'
        bad = self.write("bad.jsonl", row + '{"prompt": "1+1="}\n')
        self.refused(f'{bad}:2: field "answer" is missing',
                     **{"data.train.file": bad})
        good = self.write("bad.jsonl", row)
        again = self.start(**{"train.steps": 1, "data.train.file": good})
        self.assertEqual(again.end(), 0, again.errors())

    def test_stop_ids(self):
        self.refused("rollout.sampling.stop_token_ids has 70000", "0 to 258",
                     **{"rollout.sampling.stop_token_ids": "[70000]"})

    def test_models(self):
        model = self.trained_model()
        given = {"model.path": model, "model.fresh": "null",
                 "model.fresh.max_positions": None, "model.tokenizer": "null"}
        weights = (model / "model.safetensors").read_bytes()
        for content, text in ((weights[:100], "announces a header"),
                              (weights[:-10], "has data_offsets"),
                              (b"", "too few for a safetensors file")):
            (model / "model.safetensors").write_bytes(content)
            self.refused("model.safetensors", text, **given)
        config = json.loads((model / "config.json").read_text())
        (model / "model.safetensors").write_bytes(weights)
        (model / "config.json").write_text(
            json.dumps({**config, "head_dim": 10 ** 9}))
        self.refused("config.json: head_dim is 1000000000", **given)
        (model / "config.json").write_text(json.dumps(config))
        self.refused("train.jsonl:1: 6 prompt tokens and "
                     "rollout.sampling.max_new_tokens, 60, are more than the "
                     "model's 64 positions",
                     **given, **{"rollout.sampling.max_new_tokens": 60})
        tokenizer = json.loads((model / "tokenizer.json").read_text())
        tokenizer["added_tokens"].append(
            {"id": config["vocab_size"], "content": "6+", "special": False,
             "single_word": False, "lstrip": False, "rstrip": False,
             "normalized": False})
        (model / "tokenizer.json").write_text(json.dumps(tokenizer))
        self.refused("token id 259 of the prompt is not in the model's "
                     "vocabulary, 0 to 258", **given)

    def test_reward_functions(self):
        for text, error in (("def g(): pass\n", "has no function 'f'"),
                            ("def f(:\n", "SyntaxError"),
                            ("import no_such_module\n", "no_such_module"),
                            ("import sys; sys.exit(3)\n", "SystemExit: 3"),
                            (None, "No such file")):
            path = pathlib.Path(self.folder) / "reward.py"
            path.unlink(missing_ok=True)
            if text is not None:
                path.write_text(text)
            self.refused(f"reward.python: {path}:f cannot be used", error,
                         **{"reward.kind": "python",
                            "reward.python": f"{path}:f", **NO_EVAL})

    def test_a_refused_resume_changes_nothing(self):
        job = self.start(**{"train.steps": 2})
        self.assert_clean(job)
        kept = [job.directory / name
                for name in ("summary.json", "resolved.yaml", "metrics.jsonl")]
        before = [path.read_bytes() for path in kept]
        again = self.start("--resume", **{"train.steps": 3, "run.seed": 7})
        self.assertEqual(again.end(), 2, again.errors())
        self.assertIn('this job has "seed=7', again.errors())
        self.assertEqual(before, [path.read_bytes() for path in kept])
        newest = max((job.directory / "checkpoints").iterdir())
        corrupt = newest / "rank-0.json"
        corrupt.write_text("{}")
        again = self.start("--resume", **{"train.steps": 3})
        self.assertEqual(again.end(), 2, again.errors())
        self.assertIn(str(corrupt), again.errors())
        self.assertEqual(before, [path.read_bytes() for path in kept])


    def test_a_resume_with_fewer_steps_than_are_done(self):
        job = self.start(**{"train.steps": 2})
        self.assert_clean(job)
        again = self.start("--resume", **{"train.steps": 1})
        self.assertEqual(again.end(), 2, again.errors())
        for text in (f"{job.directory}/checkpoints/step-2 has 2 steps done",
                     "train.steps is 1: nothing is left to do"):
            self.assertIn(text, again.errors())

    def test_control_characters_do_not_reach_the_terminal(self):
        job = self.write("job.yaml", '"\\e[31mred": 1\n')
        refused = troupe("run", job)
        self.assertEqual(refused.returncode, 2)
        self.assertIn('unknown key "\\x1b[31mred"', refused.stderr)
        for arguments in (("run", "\x1b[31m"), ("inspect", "\x1b[31m")):
            refused = troupe(*arguments)
            self.assertEqual(refused.returncode, 2)
            self.assertIn("\\x1b[31m", refused.stderr)
            self.assertNotIn("\x1b", refused.stderr + refused.stdout)

    def test_an_address_space_without_room_for_threads(self):
        command = [TROUPE, "run", ROOT / "tests/support/tiny.yaml",
                   "train.steps=1", f"run.directory={self.folder}/run"]
        ended = subprocess.run(
            ["sh", "-c", 'ulimit -v 100000; exec "$@"', "sh", *command],
            capture_output=True, text=True, timeout=60)
        self.assertEqual(ended.returncode, 2, ended.stderr)
        self.assertIn("limited to 100000 KiB (ulimit -v); a job needs ",
                      ended.stderr)
        self.assertEqual(len(ended.stderr.splitlines()), 1, ended.stderr)
        ended = subprocess.run(command, capture_output=True, timeout=60)
        self.assertEqual(ended.returncode, 0, ended.stderr)

    def test_a_rank_that_cannot_be_executed(self):
        here = pathlib.Path(TROUPE).resolve().parent
        binaries = pathlib.Path(self.folder) / "bin"
        binaries.mkdir()
        shutil.copy(here / "troupe", binaries)
        program = binaries / "troupe_rank"
        for content, mode, text in ((None, 0, "No such file or directory"),
                                    (b"", 0o644, "Permission denied"),
                                    (b"\x7fELF of no machine", 0o755,
                                     "Exec format error")):
            if content is not None:
                program.write_bytes(content)
                program.chmod(mode)
            ended = subprocess.run(
                [binaries / "troupe", "run", ROOT / "tests/support/tiny.yaml",
                 "train.steps=1", f"run.directory={self.folder}/{mode}"],
                capture_output=True, text=True, timeout=60)
            self.assertEqual(ended.returncode, 2, ended.stderr)
            self.assertIn("cannot start process 'rank-0': "
                          f"{program}: {text}", ended.stderr)


class Commands(JobTest):
    def test_generate_needs_no_answers_and_says_what_is_wrong(self):
        job = self.start(**{"train.steps": 1})
        self.assert_clean(job)
        model = job.directory / "final"
        done = subprocess.run(
            [TROUPE, "generate", "--model", str(model), "--file", "-",
             "--max-new-tokens", "4"],
            input='{"prompt": "1+1="}\n{"prompt": "2+2="}\n', text=True,
            capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), 2)
        for flags, text in (
                (["--model", "/nope"], "/nope"),
                (["--model", model, "--temperature", "nan"], "--temperature"),
                (["--model", model, "--seed", "-1"], "--seed"),
                (["--model", model, "--max-new-tokens", "0"],
                 "rollout.sampling.max_new_tokens")):
            done = troupe("generate", "--prompt", "1+1=", *flags)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(text, done.stderr)

    def test_eval_takes_the_jobs_own_overrides(self):
        job = self.start(**{"train.steps": 1})
        self.assert_clean(job)
        done = troupe("eval", job.directory / "resolved.yaml",
                      f"run.directory={job.directory}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("accuracy", done.stdout)

    def test_lost_output_is_an_error_of_commands_only(self):
        job = self.start(**{"train.steps": 3})
        job.process.stdout.close()  # as `troupe run JOB.yaml | head -1`
        self.assertEqual(job.process.wait(timeout=60), 0, job.errors())
        self.assertEqual(job.summary()["steps"], 3)
        with open("/dev/full", "w", encoding="utf-8") as full:
            for arguments in (
                    ["inspect", "actors", str(job.directory)],
                    ["generate", "--model", str(job.directory / "final"),
                     "--prompt", "1+1=", "--max-new-tokens", "4"]):
                done = subprocess.run([TROUPE, *arguments], stdout=full,
                                      stderr=subprocess.PIPE, text=True,
                                      timeout=60)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn("standard output", done.stderr)

    def test_a_missing_scratch_folder_is_named(self):
        done = subprocess.run(
            [TROUPE, "generate", "--model", "/nope", "--prompt", "1"],
            env={**os.environ, "TMPDIR": "/no/such"}, text=True,
            capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertIn("/no/such/troupe-", done.stderr)
        self.assertIn("TMPDIR", done.stderr)


if __name__ == "__main__":
    unittest.main()
