# SPDX-License-Identifier: Apache-2.0
"""Folders that Troupe writes load in transformers with the same values, and
what transformers saves is read back by Troupe.

    python3 model_folder_golden.py PROBE

PROBE is the binary of model_folder_probe.cpp. Exits 77 (skipped) without the
tests' venv.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import venv_of_tests as venv


def read(probe, folder):
    done = subprocess.run([probe, "read", folder], stdout=subprocess.PIPE,
                          text=True, check=True, timeout=60)
    return json.loads(done.stdout)


def check(probe, dtype, tying):
    import torch
    import transformers
    with tempfile.TemporaryDirectory() as root:
        written = str(pathlib.Path(root) / "written")
        saved = str(pathlib.Path(root) / "saved")
        pathlib.Path(written).mkdir()
        subprocess.run([probe, "write", written, dtype, tying], check=True,
                       timeout=60)
        ours = read(probe, written)
        model, info = transformers.AutoModelForCausalLM.from_pretrained(
            written, output_loading_info=True, dtype="auto")
        assert not any(info.values()), info
        config = model.config
        assert type(model).__name__ == "LlamaForCausalLM"
        assert config.rope_parameters == {
            "rope_type": "default", "rope_theta": 50000.0}, config
        for key in ("vocab_size", "head_dim", "num_key_value_heads",
                    "rms_norm_eps", "tie_word_embeddings", "bos_token_id",
                    "eos_token_id"):
            assert getattr(config, key) == ours[key], key
        assert config.pad_token_id is None and ours["pad_token_id"] == -1
        assert model.generation_config.eos_token_id == ours["eos_token_id"]
        assert model.dtype == getattr(torch, dtype)
        state = model.state_dict()
        if tying == "tied":
            del state["lm_head.weight"]
        assert state.keys() == ours["tensors"].keys()
        for name, tensor in state.items():
            values = torch.tensor(ours["tensors"][name]["values"])
            assert torch.equal(tensor.float().flatten(), values), name
        model.save_pretrained(saved)
        again = read(probe, saved)
        assert again == ours, "what transformers saved differs"


def main():
    venv.enter()
    probe = sys.argv[1]
    for dtype in ("float32", "bfloat16", "float16"):
        for tying in ("tied", "untied"):
            check(probe, dtype, tying)
            print(f"{dtype}, {tying}: equal")


if __name__ == "__main__":
    main()
