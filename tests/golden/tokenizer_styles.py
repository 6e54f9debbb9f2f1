# SPDX-License-Identifier: Apache-2.0
"""Builds tokenizers of the same components as well-known ones, with small
vocabularies that `tokenizers` itself trains."""
import json

from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models,
                        normalizers, pre_tokenizers, processors, trainers)

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
          r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
MARK = "\u2581"


def added(*texts, **how):
    return [AddedToken(text, **how) for text in texts]


def train(tokenizer, corpus, vocab_size, **options):
    tokenizer.train_from_iterator(corpus, trainers.BpeTrainer(
        vocab_size=vocab_size, show_progress=False, **options))
    return tokenizer


def byte_level(corpus, pre, model=None, vocab_size=3000, normalizer=None):
    out = Tokenizer(model or models.BPE())
    if normalizer:
        out.normalizer = normalizer
    out.pre_tokenizer = pre
    out.decoder = decoders.ByteLevel()
    return train(out, corpus, vocab_size,
                 initial_alphabet=pre_tokenizers.ByteLevel.alphabet())


def gpt2(corpus):
    out = byte_level(corpus, pre_tokenizers.ByteLevel(add_prefix_space=False))
    out.post_processor = processors.ByteLevel(trim_offsets=True)
    out.add_special_tokens(added("<|endoftext|>"))
    out.add_tokens(added("<mask>", lstrip=True) + added("<tool>", single_word=True))
    return out


def split_and_bytes(expression):
    return pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(expression), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def llama3(corpus):
    out = byte_level(corpus, split_and_bytes(LLAMA3),
                     models.BPE(ignore_merges=True))
    out.add_special_tokens(added("<|begin_of_text|>", "<|endoftext|>"))
    out.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=True),
        processors.TemplateProcessing(
            single="<|begin_of_text|> $A",
            special_tokens=[("<|begin_of_text|>",
                             out.token_to_id("<|begin_of_text|>"))])])
    return out


def qwen2(corpus):
    out = byte_level(corpus, split_and_bytes(QWEN2), normalizer=normalizers.NFC())
    out.post_processor = processors.ByteLevel(trim_offsets=False)
    out.add_special_tokens(added("<|endoftext|>", "<|im_start|>", "<|im_end|>"))
    out.add_tokens(added("<tool>", "caf\u00e9", normalized=True))
    return out


def with_byte_tokens(tokenizer, specials):
    """Returns it with `specials` and "<0x00>" ... before the trained tokens."""
    content = json.loads(tokenizer.to_str())
    trained = sorted(content["model"]["vocab"].items(), key=lambda pair: pair[1])
    first = specials + [f"<0x{byte:02X}>" for byte in range(256)]
    content["model"]["vocab"] = {
        token: i for i, token in enumerate(
            first + [token for token, _ in trained if token not in first])}
    content["model"].update(byte_fallback=True, fuse_unk=True, unk_token="<unk>")
    out = Tokenizer.from_str(json.dumps(content))
    out.add_special_tokens(added(*specials, normalized=False))
    return out


def begin_with(tokenizer, token):
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{token} $A",
        special_tokens=[(token, tokenizer.token_to_id(token))])
    return tokenizer


def gemma(corpus):
    out = Tokenizer(models.BPE())
    out.normalizer = normalizers.Replace(" ", MARK)
    out.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    out.decoder = decoders.Sequence([
        decoders.Replace(MARK, " "), decoders.ByteFallback(), decoders.Fuse()])
    train(out, corpus, 3000, limit_alphabet=200, max_token_length=12)
    out = with_byte_tokens(out, ["<pad>", "<eos>", "<bos>", "<unk>"])
    out.add_tokens(added("\n\n", "\n\n\n", "\t\t", "<start_of_turn>", normalized=False))
    return begin_with(out, "<bos>")


def mistral(corpus):
    """And Llama 2: the space before the text is a normalizer's."""
    out = Tokenizer(models.BPE())
    out.normalizer = normalizers.Sequence([
        normalizers.Prepend(MARK), normalizers.Replace(" ", MARK)])
    out.decoder = decoders.Sequence([
        decoders.Replace(MARK, " "), decoders.ByteFallback(), decoders.Fuse(),
        decoders.Strip(" ", 1, 0)])
    # Trained on words, as SentencePiece does.
    out.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    train(out, corpus, 3000, limit_alphabet=300)
    out.pre_tokenizer = None
    out = with_byte_tokens(out, ["<unk>", "<s>", "</s>"])
    out.add_tokens(added("<tool>", normalized=True))
    return begin_with(out, "<s>")


def mistral_metaspace(corpus):
    """Its newer files: the space before the text is the pre-tokenizer's."""
    out = mistral(corpus)
    out.normalizer = None
    out.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    out.decoder = decoders.Sequence([
        decoders.Replace(MARK, " "), decoders.ByteFallback(), decoders.Fuse(),
        decoders.Strip(" ", 1, 0)])
    return out


STYLES = {"gpt2": gpt2, "llama3": llama3, "qwen2": qwen2, "gemma": gemma,
          "mistral": mistral, "mistral_metaspace": mistral_metaspace}
