# SPDX-License-Identifier: Apache-2.0
"""Makes the quickstart's tokenizer: three special tokens, then one for each
byte. Digits stand alone, so a sum is read column by column.

    python3 samples/addition/make_tokenizer.py

The files are committed: neither the quickstart nor the tests need this script.
"""
import json
import pathlib

SPECIAL = ["<pad>", "<bos>", "<eos>"]


def byte_alphabet():
    """Returns GPT-2's printable character for each byte, in byte order."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(256, 512))
    return [chr(b if b in printable else next(others)) for b in range(256)]


def main():
    byte_level = {"type": "ByteLevel", "add_prefix_space": False,
                  "trim_offsets": True, "use_regex": True}
    tokens = SPECIAL + byte_alphabet()
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [
            {"id": i, "content": t, "single_word": False, "lstrip": False,
             "rstrip": False, "normalized": False, "special": True}
            for i, t in enumerate(SPECIAL)],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Digits", "individual_digits": True}, byte_level]},
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE", "dropout": None, "unk_token": None,
            "continuing_subword_prefix": None, "end_of_word_suffix": None,
            "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
            "vocab": {t: i for i, t in enumerate(tokens)}, "merges": []}}
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": 64, "clean_up_tokenization_spaces": False,
        "pad_token": "<pad>", "bos_token": "<bos>", "eos_token": "<eos>"}
    here = pathlib.Path(__file__).parent
    for name, content in [("tokenizer.json", tokenizer),
                          ("tokenizer_config.json", config)]:
        text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
        (here / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
