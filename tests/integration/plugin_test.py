# SPDX-License-Identifier: Apache-2.0
"""A job whose model has a module type of a plug-in: samples/plugins/experts."""
import json
import os
import pathlib
import struct
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support.job import ROOT, JobTest, troupe  # noqa: E402

PLUGIN = os.environ.get("TROUPE_EXPERTS",
                        str(ROOT / "build/lib/plugins/libexperts.so"))
NUM_EXPERTS, NUM_LAYERS = 60, 2
EXPERTS = {"model.plugins": f"[{PLUGIN}]", "model.fresh.mlp": "expert_mlp",
           "model.fresh.intermediate_size": 8}


def read_tensors(path):
    """The tensors of a safetensors file: name -> (shape, bytes)."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return {name: (t["shape"],
                   data[8 + size + t["data_offsets"][0]:
                        8 + size + t["data_offsets"][1]])
            for name, t in header.items()}


class Plugin(JobTest):
    def expert_ids(self, tensors, layer):
        """The numbers in the names of a layer's experts."""
        prefix = f"model.layers.{layer}.mlp.experts."
        return sorted({int(name[len(prefix):].split(".")[0])
                       for name in tensors if name.startswith(prefix)})

    def test_experts_of_a_plugin_train_and_keep_their_ids(self):
        job = self.start(**{"train.steps": 3, "sft_warmup.steps": 2,
                            "run.save_every_steps": 1,
                            "run.keep_checkpoints": 10, **EXPERTS})
        self.assert_clean(job)
        self.assertEqual([r["rollout/logprob_gap_max"] for r in job.metrics()
                          if "rollout/logprob_gap_max" in r], [0.0] * 3)

        config = json.loads((job.directory / "final/config.json").read_text())
        self.assertEqual(config["troupe_mlp"], "expert_mlp")
        first = read_tensors(
            job.directory / "checkpoints/step-1/model.safetensors")
        last = read_tensors(job.directory / "final/model.safetensors")
        self.assertEqual({n: s for n, (s, _) in first.items()},
                         {n: s for n, (s, _) in last.items()})
        for layer in range(NUM_LAYERS):
            self.assertEqual(self.expert_ids(last, layer),
                             list(range(NUM_EXPERTS)))
            mlp = f"model.layers.{layer}.mlp"
            self.assertEqual(last[f"{mlp}.gate.weight"][0], [NUM_EXPERTS, 32])
            for i in range(NUM_EXPERTS):
                self.assertEqual(last[f"{mlp}.experts.{i}.up_proj.weight"][0],
                                 [8, 32])
            trained = [i for i in range(NUM_EXPERTS)
                       if first[f"{mlp}.experts.{i}.up_proj.weight"]
                       != last[f"{mlp}.experts.{i}.up_proj.weight"]]
            self.assertTrue(trained, "no expert was trained")

        # The saved model needs the plug-in and nothing else.
        final = job.directory / "final"
        said = troupe("generate", "--model", final, "--prompt", "1+1=",
                      "--max-new-tokens", "4", "--temperature", "0",
                      f"model.plugins=[{PLUGIN}]", cwd=self.folder)
        self.assertEqual(said.returncode, 0, said.stderr)
        alone = troupe("generate", "--model", final, "--prompt", "1+1=",
                       "--max-new-tokens", "4", cwd=self.folder)
        self.assertNotEqual(alone.returncode, 0, alone.stdout)
        self.assertIn("expert_mlp", alone.stderr)

    def test_a_resumed_job_with_a_plugin_goes_on(self):
        settings = {"run.save_every_steps": 1, **EXPERTS}
        self.assert_clean(self.start(**{"train.steps": 1, **settings}))
        job = self.start("--resume", **{"train.steps": 2, **settings})
        self.assert_clean(job)
        self.assertEqual(job.summary()["steps"], 2)

    def test_a_plugin_that_is_not_there_is_refused_by_name(self):
        job = self.start(**{"train.steps": 1, **EXPERTS,
                            "model.plugins": "[no_such.so]"})
        self.assertNotEqual(job.end(), 0)
        self.assertIn("no_such.so", job.errors())
        job.await_nothing_left()


if __name__ == "__main__":
    unittest.main()
