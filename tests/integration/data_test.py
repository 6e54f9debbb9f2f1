# SPDX-License-Identifier: Apache-2.0
"""Data as people have it, through whole jobs."""
import gzip
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support.job import ROOT, JobTest  # noqa: E402

ROWS = [json.loads(line) for line in
        (ROOT / "samples/addition/train.jsonl").read_text().splitlines()]


def jsonl(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def learned(job):
    """What a job made of its data, step by step."""
    return [{k: v for k, v in record.items()
             if k.startswith(("reward/", "train/"))}
            for record in job.metrics()]


class Data(JobTest):
    def folder_of(self, name, files):
        folder = pathlib.Path(self.folder) / name
        folder.mkdir()
        for file, content in files.items():
            if file.endswith(".gz"):
                (folder / file).write_bytes(gzip.compress(content.encode()))
            else:
                (folder / file).write_text(content)
        return folder

    def finished(self, **overrides):
        job = self.start(**{"train.steps": 2, **overrides})
        self.assert_clean(job)
        return job

    def test_packed_files_of_a_folder_train_as_one_file_does(self):
        whole = self.folder_of("whole", {"all.jsonl": jsonl(ROWS[:50])})
        parts = self.folder_of("parts", {
            "a.jsonl": jsonl(ROWS[:20]), "b.jsonl.gz": jsonl(ROWS[20:50]),
            "README.md": "not data"})
        one = self.finished(**{"data.train.file": whole / "all.jsonl"})
        wanted = learned(one)
        (one.directory).rename(pathlib.Path(self.folder) / "first")
        for files in (parts, f"[{parts}/a*, {parts}/b.jsonl.gz]"):
            job = self.finished(**{"data.train.file": files})
            self.assertEqual(learned(job), wanted)
            self.assertEqual(job.summary()["data"]["train"],
                             {"rows_kept": 50, "rows_dropped": 0})
            self.assertEqual(
                [p for p in job.directory.iterdir() if "rows-" in p.name], [])
            job.directory.rename(pathlib.Path(self.folder) / str(id(job)))

    def test_dropped_rows_are_told_and_counted(self):
        bad = '{"prompt": "1+1="}\n'
        no_number = '{"prompt": "1+1=", "answer": "two"}\n'
        folder = self.folder_of(
            "bad", {"a.jsonl": bad + jsonl(ROWS[:5]),
                    "b.jsonl.gz": no_number + jsonl(ROWS[5:10]) + "{"})
        job = self.finished(**{
            "data.train.file": folder, "data.on_bad_row": "skip",
            "reward.kind": "final_number"})
        self.assertEqual(job.summary()["data"], {
            "eval": {"rows_kept": 500, "rows_dropped": 0},
            "train": {"rows_kept": 10, "rows_dropped": 3}})
        lines = "\n".join(job.lines)
        self.assertIn(f"{folder} (2 files): 10 rows kept, 3 dropped", lines)
        self.assertIn(f'{folder}/a.jsonl:1: field "answer" is missing', lines)
        self.assertIn(f'{folder}/b.jsonl.gz:1: the answer "two" has no number',
                      lines)
        self.assertIn(f"{folder}/b.jsonl.gz:7: no JSON", lines)

    def test_what_cannot_be_read_is_refused_with_exit_code_2(self):
        folder = self.folder_of("none", {"train.parquet": "PAR1"})
        cut = pathlib.Path(self.folder) / "cut.jsonl.gz"
        cut.write_bytes(gzip.compress(jsonl(ROWS).encode())[:200])
        for file, text in ((folder, "train.parquet: is Parquet"),
                           (cut, "gzip: unexpected end of file"),
                           (f"{self.folder}/*.jsonl", "no file matches")):
            job = self.start(**{"train.steps": 2, "data.train.file": file})
            self.assertEqual(job.end(), 2, job.errors())
            self.assertIn(text, job.errors())


if __name__ == "__main__":
    unittest.main()
