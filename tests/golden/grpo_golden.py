# SPDX-License-Identifier: Apache-2.0
"""Loss and gradients of a policy step against autograd of TRL's own code:

    python3 tests/golden/grpo_golden.py PROBE

The reference is GRPOTrainer._compute_loss of TRL, in double, on a padded batch
(prompts left, completions right) through a tiny Llama of transformers. TRL has
no k1 and k2: there the aggregated estimate is added to its loss. Of the weights
of the importance correction, which TRL computes while it generates, the formula
stands here. Rollout logprobs that are not finite are masked (tool_mask).
Code 77: the tests' venv is missing.
"""
import collections
import itertools
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import types

import venv_of_tests

TOLERANCE = 1e-5  # relative; of tensors by their norms
VOCABULARY, PAD = 64, 0

venv_of_tests.enter()

import torch  # noqa: E402: of the venv
from safetensors.torch import load_file  # noqa: E402
from transformers import LlamaConfig, LlamaForCausalLM  # noqa: E402
from trl.trainer.grpo_trainer import GRPOTrainer  # noqa: E402


def make_model(seed):
    torch.manual_seed(seed)
    return LlamaForCausalLM(LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=48, intermediate_size=96,
        num_hidden_layers=2, num_attention_heads=6, num_key_value_heads=2,
        max_position_embeddings=128, tie_word_embeddings=True,
        initializer_range=0.2, pad_token_id=PAD, bos_token_id=1,
        eos_token_id=2))


def make_samples(generator):
    """Groups of prompts and completions of unlike lengths, as token ids."""
    def draw(low, high):
        count = int(torch.randint(low, high, (), generator=generator))
        return torch.randint(3, VOCABULARY, (count,), generator=generator)
    return [(draw(2, 12), [draw(1, 14) for _ in range(4)]) for _ in range(3)]


def pad(rows, side):
    width = max(len(row) for row in rows)
    ids = torch.full((len(rows), width), PAD)
    mask = torch.zeros(len(rows), width, dtype=torch.long)
    for i, row in enumerate(rows):
        where = slice(width - len(row), width) if side == "left" else slice(
            0, len(row))
        ids[i, where] = row
        mask[i, where] = 1
    return ids, mask


def make_batch(groups):
    prompts = [prompt for prompt, samples in groups for _ in samples]
    completions = [s for _, samples in groups for s in samples]
    return (*pad(prompts, "left"), *pad(completions, "right"))


def token_distributions(model, batch, temperature):
    prompt_ids, prompt_mask, completion_ids, completion_mask = batch
    ids = torch.cat([prompt_ids, completion_ids], 1)
    mask = torch.cat([prompt_mask, completion_mask], 1)
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    logits = model(input_ids=ids, attention_mask=mask,
                   position_ids=positions).logits
    count = completion_ids.shape[1]
    return (logits[:, -count - 1:-1] / temperature).log_softmax(-1)


def token_logprobs(model, batch, temperature):
    table = token_distributions(model, batch, temperature)
    return table.gather(2, batch[2].unsqueeze(2)).squeeze(2)


def importance_weights(case, old, rollout, mask):
    kind = case["importance_correction"]
    gap = torch.where(mask > 0, old - rollout, 0)
    if kind.startswith("sequence"):
        gap = gap.sum(1, keepdim=True)
    weight = gap.exp()
    low, high = case["importance_min"], case["importance_max"]
    if kind.endswith("truncate"):
        return weight.clamp(low, high)
    return torch.where((weight < low) | (weight > high), 0, weight)


def aggregate(case, token_loss, mask):
    kind = case["loss_aggregation"]
    token_loss = torch.where(mask > 0, token_loss, 0)
    if kind == "token_mean":
        return token_loss.sum() / mask.sum()
    if kind == "sequence_mean":
        return (token_loss.sum(1) / mask.sum(1)).mean()
    return token_loss.sum() / len(mask) / (
        case["loss_length_tokens"] if kind == "fixed_length" else 1)


LOSS_TYPES = {"token_mean": "bnpo", "sequence_mean": "grpo",
              "fixed_length": "dr_grpo", "sequence_sum": "luspo"}


def trl_trainer(case, distributions):
    """As much of a GRPOTrainer as its loss looks at."""
    def logprobs_and_entropies(model, ids, mask, count, **_):
        table = distributions(model)
        chosen = table.gather(2, ids[:, -count:].unsqueeze(2)).squeeze(2)
        return chosen, -(table.exp() * table).sum(-1), None

    is_cispo = case["policy_loss"] == "cispo"
    same = types.SimpleNamespace(
        gather=lambda x: x, reduce=lambda x, reduction=None: x,
        num_processes=1, sync_gradients=True)
    return types.SimpleNamespace(
        _get_per_token_logps_and_entropies=logprobs_and_entropies,
        accelerator=same, _metrics=collections.defaultdict(
            lambda: collections.defaultdict(list)),
        model=types.SimpleNamespace(training=True),
        args=types.SimpleNamespace(
            delta=case["dual_clip"] or None, use_bias_correction_kl=False,
            steps_per_generation=1),
        current_gradient_accumulation_steps=1, aux_loss_enabled=False,
        top_entropy_quantile=1.0, off_policy_mask_threshold=None,
        use_vllm=True, vllm_importance_sampling_correction=(
            case["importance_correction"] != "none"),
        importance_sampling_level=case["ratio_level"],
        loss_type="cispo" if is_cispo else LOSS_TYPES[
            case["loss_aggregation"]],
        beta=case["kl_coefficient"] if case["kl_estimator"] == "k3" else 0.0,
        epsilon_low=case["clip_low"],
        epsilon_high=case["clip_high"] + (1 if is_cispo else 0),
        max_completion_length=case["loss_length_tokens"],
        _entropy_bonus_enabled=case["entropy_coefficient"] > 0,
        use_adaptive_entropy=False, entropy_coef=case["entropy_coefficient"])


def objective(case, models, batch, rollout, advantages):
    model, reference, old_model = models
    mask = batch[3] * rollout.isfinite()
    rollout = torch.where(mask > 0, rollout, 0)
    temperature = case["temperature"]
    with torch.no_grad():
        wanted = token_logprobs(reference, batch, temperature)
        present = token_logprobs(
            old_model if case["is_scored"] else model, batch, temperature)
    is_corrected = case["importance_correction"] != "none"
    inputs = {
        "prompt_ids": batch[0], "prompt_mask": batch[1],
        "completion_ids": batch[2], "completion_mask": batch[3],
        "tool_mask": mask, "advantages": advantages,
        "old_per_token_logps": present if is_corrected else rollout,
        "ref_per_token_logps": wanted, "num_items_in_batch": mask.sum()}
    if is_corrected:
        inputs["importance_sampling_ratio"] = importance_weights(
            case, present, rollout, mask)
    trainer = trl_trainer(
        case, lambda m: token_distributions(m, batch, temperature))
    loss = GRPOTrainer._compute_loss(trainer, model, inputs)
    if case["kl_coefficient"] > 0 and case["kl_estimator"] != "k3":
        gap = wanted - token_logprobs(model, batch, temperature)
        kl = -gap if case["kl_estimator"] == "k1" else gap * gap / 2
        loss = loss + case["kl_coefficient"] * aggregate(case, kl, mask)
    return loss


DEFAULTS = {
    "policy_loss": "clipped", "ratio_level": "token", "clip_low": 0.2,
    "clip_high": 0.28, "dual_clip": 0, "importance_correction": "none",
    "importance_min": 0.5, "importance_max": 1.3, "kl_coefficient": 0.0,
    "kl_estimator": "k3", "entropy_coefficient": 0.0,
    "loss_aggregation": "token_mean", "loss_length_tokens": 11,
    "temperature": 1.0, "microbatch_tokens": 4096, "logit_chunk_tokens": 256,
    "is_scored": False}
SMALL = {"temperature": 0.7, "microbatch_tokens": 24, "logit_chunk_tokens": 5,
         "clip_low": 0.1, "clip_high": 0.35}


def make_cases():
    options = [
        *({"loss_aggregation": a, "kl_coefficient": beta, **rest}
          for a, beta, rest in itertools.product(
              LOSS_TYPES, (0.0, 0.2), ({}, SMALL))),
        *({"kl_coefficient": 0.2, "kl_estimator": k, "loss_aggregation": a}
          for k in ("k1", "k2") for a in ("token_mean", "sequence_mean")),
        {"dual_clip": 1.4}, {"dual_clip": 1.4, **SMALL},
        {"policy_loss": "cispo", "clip_low": 1.0, "clip_high": 0.1},
        {"policy_loss": "cispo", **SMALL, "clip_low": 1.0},
        {"entropy_coefficient": 0.03},
        {"entropy_coefficient": 0.05, "kl_coefficient": 0.1, **SMALL},
        *({"ratio_level": "sequence", "loss_aggregation": "sequence_mean",
           "clip_low": 0.03, "clip_high": 0.04, **rest}
          for rest in ({}, {"kl_coefficient": 0.1}, {
              "microbatch_tokens": 24, "logit_chunk_tokens": 5})),
        *({"importance_correction": f"{level}_{kind}", "is_scored": is_scored,
           **rest}
          for level in ("token", "sequence") for kind in ("truncate", "mask")
          for is_scored, rest in ((False, {}), (True, SMALL))),
        {"importance_correction": "sequence_mask", "is_scored": True,
         "ratio_level": "sequence", "loss_aggregation": "sequence_mean",
         "kl_coefficient": 0.1, "clip_low": 0.02, "clip_high": 0.02},
    ]
    return [{**DEFAULTS, **option} for option in options]


def main(probe):
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(1)
    model, reference = make_model(0), make_model(5)
    old_model = make_model(0)
    with torch.no_grad():
        for p in old_model.parameters():
            p += 0.01 * torch.randn(p.shape, generator=generator)
    groups = make_samples(generator)
    batch = make_batch(groups)
    with torch.no_grad():
        rollout = token_logprobs(model, batch, 1.0)
    rollout = rollout + 0.3 * torch.randn(rollout.shape, generator=generator)
    # In rows of more than that token: TRL counts a row without one, we do not.
    first, second = [i for i, n in enumerate(batch[3].sum(1)) if n > 2][:2]
    rollout[first, 0], rollout[second, 1] = math.nan, -math.inf
    rewards = torch.rand(len(groups), 4, generator=generator)
    advantages = ((rewards - rewards.mean(1, keepdim=True))
                  / (rewards.std(1, keepdim=True) + 1e-4)).reshape(-1)
    cases = make_cases()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model.save_pretrained(folder / "model")
        reference.save_pretrained(folder / "reference")
        old_model.save_pretrained(folder / "old")
        rows = iter(rollout.tolist())
        (folder / "cases.json").write_text(json.dumps({
            "model": str(folder / "model"),
            "reference": str(folder / "reference"),
            "old": str(folder / "old"),
            "groups": [{"prompt_ids": prompt.tolist(), "samples": [
                {"completion_ids": s.tolist(),
                 "rollout_logprobs": [
                     x if math.isfinite(x) else str(x)
                     for x in next(rows)[:len(s)]]} for s in samples]}
                for prompt, samples in groups],
            "advantages": advantages.tolist(), "cases": cases}))
        out = subprocess.run(
            [probe, str(folder / "cases.json"), name], check=True,
            stdout=subprocess.PIPE, text=True).stdout.splitlines()
        found = [(json.loads(line), load_file(folder / f"{i}.safetensors"))
                 for i, line in enumerate(out)]
    assert len(found) == len(cases), (len(found), len(cases))
    models = [m.double() for m in (model, reference, old_model)]
    worst = 0.0
    for case, (metrics, gradients) in zip(cases, found):
        model.zero_grad()
        loss = objective(case, models, batch, rollout.double(),
                         advantages.double())
        loss.backward()
        assert metrics["train/nonfinite_logprobs"] == 2
        # Terms of advantages times weights or logprobs cancel; they are of
        # about 1 nat.
        cancels = (case["policy_loss"] == "cispo"
                   or case["importance_correction"] != "none")
        scale = max(abs(loss.item()), 1) if cancels else abs(loss.item())
        off = {"loss": abs(metrics["train/loss"] - loss.item()) / scale}
        for key, p in model.named_parameters():
            got = gradients.pop(key + ".first").double()
            off[key] = ((got - p.grad).norm() / p.grad.norm()).item()
        rest = [key for key in gradients if key.endswith(".first")]
        assert not rest, f"gradients of no parameter: {rest}"
        key = max(off, key=off.get)
        worst = max(worst, off[key])
        if not off[key] <= TOLERANCE:
            print(f"{case}\n  loss {loss.item()}, {key} is off by {off[key]:.2e}, allowed "
                  f"{TOLERANCE}")
            return 1
    print(f"{len(cases)} cases, largest relative difference {worst:.1e}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
