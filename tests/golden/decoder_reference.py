# SPDX-License-Identifier: Apache-2.0
"""What transformers computes in float32, for golden_decoder to compare with.

    decoder_reference.py FOLDER KIND ...
    decoder_reference.py FOLDER MODEL

With OUT = FOLDER/KIND, or FOLDER/real for MODEL:
OUT/model is MODEL, or a small model of one of the KINDS below, made here: every weight
random, norms and biases, too. OUT/reference.safetensors: logits of 64 prompts of 1 to 64 tokens,
half of them left-padded and half right-padded (all rows of a made model, last rows of
MODEL), greedy continuations of 64 tokens, the loss of a prompt-masked batch.
OUT/gradients.safetensors: the gradients of that loss, under the names of files.
    decoder_reference.py --same OUT ...
exits 0 if transformers loads OUT/saved and finds the tensors of OUT/model there, and, but for
MODEL, the files of both have the same names and values (ours are of float32).
"""
import os, pathlib, sys, time
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForCausalLM, GenerationConfig

torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", 2)))

SIZES = dict(vocab_size=512, hidden_size=128, intermediate_size=384, num_hidden_layers=4,
             num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=512,
             pad_token_id=0, bos_token_id=1, eos_token_id=2)


def rope(kind, **more):
    return dict(rope_parameters=dict(rope_type=kind, rope_theta=10000.0, **more))


# Windows and the borders of scaled RoPE lie within the lengths that are tried.
KINDS = {
    "tiny": ("llama", dict(tie_word_embeddings=False)),
    "llama_biased": ("llama", dict(attention_bias=True, mlp_bias=True, hidden_act="gelu")),
    "llama3": ("llama", rope("llama3", factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0,
                             original_max_position_embeddings=32)),
    "linear": ("llama", rope("linear", factor=2.5)),
    "dynamic": ("llama", dict(rope("dynamic", factor=4.0), max_position_embeddings=48)),
    "yarn": ("llama", rope("yarn", factor=4.0, original_max_position_embeddings=32)),
    "mistral": ("mistral", dict(sliding_window=24, head_dim=48)),
    "qwen2": ("qwen2", dict(tie_word_embeddings=True)),
    "qwen2_sliding": ("qwen2", dict(use_sliding_window=True, sliding_window=17, max_window_layers=2)),
    "qwen3": ("qwen3", dict(head_dim=64, tie_word_embeddings=True)),
    "smollm3": ("smollm3", dict(no_rope_layers=[1, 0, 1, 1])),
    "gemma2": ("gemma2", dict(head_dim=48, sliding_window=24, query_pre_attn_scalar=40,
                              attn_logit_softcapping=5.0, final_logit_softcapping=8.0)),
    "gemma3": ("gemma3_text", dict(head_dim=48, sliding_window=24, sliding_window_pattern=3,
                                   rope_parameters=dict(
                                       sliding_attention=dict(rope_type="default", rope_theta=10000.0),
                                       full_attention=dict(rope_type="linear", factor=8.0, rope_theta=1e6)))),
    "gpt2": ("gpt2", dict(n_embd=128, n_layer=4, n_head=4, n_positions=128, scale_attn_by_inverse_layer_idx=True,
                          attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0)),
    "opt": ("opt", dict(ffn_dim=384, max_position_embeddings=128, dropout=0.0)),
    "gpt_neox": ("gpt_neox", dict(rope_parameters=dict(rope_type="default", rope_theta=10000.0,
                                                       partial_rotary_factor=0.25))),
    "gpt_neox_sequential": ("gpt_neox", dict(use_parallel_residual=False, tie_word_embeddings=True)),
}


def load(folder):
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")


# Of the files; float32 where nothing is said.
DTYPES = {"mistral": torch.bfloat16, "gpt2": torch.float16, "gemma3": torch.bfloat16}
SHARDED = ("qwen2", "gpt_neox")  # into several files with an index


def make(kind, folder):
    family, keys = KINDS[kind]
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(family, **{**SIZES, **keys}))
    with torch.no_grad():
        for name, p in model.named_parameters():
            # What starts at one stays near it.
            p.copy_(p.mean().round() + 0.1 * torch.randn_like(p))
    model.to(DTYPES.get(kind, torch.float32)).save_pretrained(
        folder, max_shard_size="200KB" if kind in SHARDED else "50GB")


def padded(prompts, left):
    longest = max(map(len, prompts))
    pad = lambda row: [0] * (longest - len(row)) + row if left else row + [0] * (longest - len(row))
    mask = torch.tensor([pad([1] * len(p)) for p in prompts])
    return torch.tensor([pad(p) for p in prompts]), mask, (mask.cumsum(-1) - 1).clamp(min=0)


def logits_of(model, prompts, left, only_last):
    ids, mask, positions = padded(prompts, left)
    with torch.no_grad():
        logits = model(ids, attention_mask=mask, position_ids=positions).logits
    rows = [logits[i][mask[i].bool()] for i in range(len(prompts))]
    return [r[-1:] if only_last else r for r in rows]


def greedy(model, prompt, num_tokens):
    ids = torch.tensor([prompt])
    model.generation_config.eos_token_id = model.config.eos_token_id = None
    never_ends = GenerationConfig(do_sample=False, max_new_tokens=num_tokens, pad_token_id=0)
    return model.generate(ids, attention_mask=torch.ones_like(ids), generation_config=never_ends)[0].tolist()


def file_name(model, name):
    return name.replace("lm_head.", "embed_out.") if model.config.model_type == "gpt_neox" else name


def main(folder, source):
    out = pathlib.Path(folder) / (source if source in KINDS else "real")
    torch.manual_seed(11)
    out.mkdir(parents=True, exist_ok=True)
    is_made = source in KINDS
    if is_made:
        make(source, out / "model")
    elif not (out / "model").exists():
        (out / "model").symlink_to(pathlib.Path(source).resolve())
    model = load(out / "model")
    draw = lambda n: torch.randint(3, model.config.vocab_size, (n,)).tolist()
    i32 = lambda values: torch.tensor(values, dtype=torch.int32)

    # transformers stretches a whole text where RoPE is dynamic, not its end.
    longest = 40 if source == "dynamic" else 64
    prompts = [draw(n) for n in range(1, longest + 1)]
    logits = [None] * len(prompts)
    logits[0::2] = logits_of(model, prompts[0::2], True, not is_made)
    logits[1::2] = logits_of(model, prompts[1::2], False, not is_made)
    logits = torch.cat(logits)
    ends = torch.tensor([len(p) for p in prompts]).cumsum(0)
    rows = list(range(int(ends[-1]))) if is_made else (ends - 1).tolist()
    with torch.no_grad():
        continued = [greedy(model, p, 64) for p in (prompts[4], prompts[31], prompts[-1])]

    # Eight rows of 96 tokens, of which the first 10 to 45 are the prompt.
    length = 40 if source == "dynamic" else 96
    batch = torch.tensor([draw(length) for _ in range(8)])
    labels = batch.clone()
    for row in range(8):
        labels[row, :10 + 5 * row * length // 96] = -100
    for attempt in range(2):  # the second is timed: memory is there
        model.zero_grad()
        start, processor_start = time.perf_counter(), time.process_time()
        loss = model(batch, labels=labels).loss
        loss.backward()
        print(f"transformers: forward and backward of {batch.numel()} tokens on {torch.get_num_threads()} threads: "
              f"{time.perf_counter() - start:.3f} s, of processors {time.process_time() - processor_start:.3f} s")
    save_file({
        "ids": i32(sum(prompts, [])), "lengths": i32([len(p) for p in prompts]),
        "rows": i32(rows), "logits": logits.contiguous(),
        "continued": i32(sum(continued, [])), "continued_lengths": i32([len(c) for c in continued]),
        "sft_ids": i32(batch.flatten().tolist()), "sft_labels": i32(labels.flatten().tolist()),
        "sft_lengths": i32([length] * 8), "sft_loss": loss.detach().reshape(1)}, out / "reference.safetensors")
    save_file({file_name(model, name): p.grad.contiguous() for name, p in model.named_parameters()},
              out / "gradients.safetensors")


def same(out):
    out = pathlib.Path(out)
    wanted, found = load(out / "model").state_dict(), load(out / "saved").state_dict()
    assert wanted.keys() == found.keys(), wanted.keys() ^ found.keys()
    for name, tensor in wanted.items():
        assert torch.equal(tensor, found[name]), name
    print(f"transformers: {len(found)} tensors of the saved folder are equal")
    if out.name not in KINDS:
        return  # of another dtype
    wanted, found = ({name: tensor for file in sorted((out / folder).glob("*.safetensors"))
                      for name, tensor in load_file(file).items()} for folder in ("model", "saved"))
    assert wanted.keys() == found.keys(), wanted.keys() ^ found.keys()
    for name, tensor in wanted.items():
        assert torch.equal(tensor.float(), found[name]), name


if sys.argv[1] == "--same":
    for folder in sys.argv[2:]:
        same(folder)
else:
    for source in sys.argv[2:]:
        main(sys.argv[1], source)
