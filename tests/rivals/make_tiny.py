# SPDX-License-Identifier: Apache-2.0
"""Makes a tiny random Llama (0.92 M parameters, vocabulary 512) with a
byte-level BPE of 512 tokens, trained on Python's own library:

    python tests/rivals/make_tiny.py FOLDER
"""
import pathlib
import sys
import sysconfig

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (LlamaConfig, LlamaForCausalLM,
                          PreTrainedTokenizerFast)

SPECIAL = ["<|pad|>", "<|bos|>", "<|eos|>"]


def make_tokenizer():
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    library = pathlib.Path(sysconfig.get_path("stdlib"))
    texts = [p.read_text(errors="replace")
             for p in sorted(library.glob("[a-d]*.py"))]
    bpe.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=512, special_tokens=SPECIAL, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe, pad_token=SPECIAL[0], bos_token=SPECIAL[1],
        eos_token=SPECIAL[2], model_max_length=512)


def main(folder):
    torch.manual_seed(0)
    LlamaForCausalLM(LlamaConfig(
        vocab_size=512, hidden_size=128, intermediate_size=384,
        num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=4,
        max_position_embeddings=512, tie_word_embeddings=True, pad_token_id=0,
        bos_token_id=1, eos_token_id=2)).save_pretrained(folder)
    make_tokenizer().save_pretrained(folder)


if __name__ == "__main__":
    main(sys.argv[1])
