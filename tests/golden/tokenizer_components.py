# SPDX-License-Identifier: Apache-2.0
"""Each component of tokenizer.json by itself and in sequences that well-known
files do not have, on one small vocabulary."""
import itertools
import json

from tokenizers import (Regex, decoders, models, normalizers, pre_tokenizers,
                        processors)
import tokenizer_styles as styles

BEHAVIORS = ["removed", "isolated", "merged_with_previous", "merged_with_next",
             "contiguous"]
EXPRESSIONS = [r"\s+", r"[aeiou]", r"\w+|[^\w\s]+", r"(?=(\d{3})+(?!\d))", r"x*",
               r"\b", r" ?[^(\s|[.,!?\u2026\u3002\uff0c])]+", r"[0-9][0-9][0-9]"]


def normalizer_cases():
    n = normalizers
    yield from ((type(one).__name__, one) for one in [
        n.NFC(), n.NFD(), n.NFKC(), n.NFKD(), n.Lowercase(), n.StripAccents(),
        n.ByteLevel(), n.Prepend("ab"), n.Replace("a", ""), n.Replace("e", "xyz"),
        n.Replace(Regex(r"\s+"), " "), n.Replace(Regex("[0-9]"), "#"),
        n.Strip(), n.Strip(left=False), n.Strip(right=False)])
    for form in [n.NFD(), n.NFKD(), n.NFC()]:
        yield "sequence", n.Sequence([
            n.Strip(), form, n.StripAccents(), n.Lowercase(), n.NFKC(),
            n.Replace("  ", " "), n.Prepend("_")])


def pre_tokenizer_cases():
    p = pre_tokenizers
    for behavior in BEHAVIORS:
        yield f"punctuation {behavior}", p.Punctuation(behavior)
        yield f"literal {behavior}", p.Split("a", behavior)
        for expression, inverts in itertools.product(EXPRESSIONS, [False, True]):
            yield (f"{expression} {behavior} {inverts}",
                   p.Split(Regex(expression), behavior, inverts))
    for scheme, splits in itertools.product(["always", "first", "never"],
                                            [True, False]):
        yield (f"metaspace {scheme} {splits}",
               p.Metaspace(prepend_scheme=scheme, split=splits))
    yield "whitespace", p.Whitespace()
    yield "whitespace split", p.WhitespaceSplit()
    yield "digits", p.Digits(individual_digits=False)
    yield "single digits", p.Digits(individual_digits=True)
    yield "sequence", p.Sequence([p.WhitespaceSplit(), p.Punctuation(), p.Digits(),
                                  p.Metaspace(prepend_scheme="first")])
    yield "falcon", p.Sequence([
        p.Punctuation("contiguous"), p.ByteLevel(add_prefix_space=False),
        p.Digits(), p.Split(Regex("[0-9][0-9][0-9]"), "isolated")])
    yield "prefix space", p.ByteLevel(add_prefix_space=True)
    yield "digits, bytes", p.Sequence([p.Digits(True), p.ByteLevel(True)])


def decoder_cases():
    d = decoders
    mark = styles.MARK
    yield "none", None
    yield "bytes", d.ByteLevel()
    yield "metaspace", d.Metaspace()
    yield "metaspace never", d.Metaspace(prepend_scheme="never")
    yield "fallback", d.ByteFallback()
    yield "fuse", d.Fuse()
    yield "strip", d.Strip("a", 2, 0)
    yield "strip joined", d.Sequence([d.Fuse(), d.Strip("a", 2, 0)])
    yield "replace", d.Replace(Regex("[aeiou]"), "<>")
    yield "replace joined", d.Sequence([d.Fuse(), d.Replace("e ", "_")])
    yield "all", d.Sequence([
        d.Replace(mark, " "), d.ByteFallback(), d.Metaspace(), d.Fuse(),
        d.Replace("ab", "c"), d.Strip(" ", 1, 0)])
    yield "bytes then strip", d.Sequence([d.ByteLevel(), d.Strip(" ", 1, 0)])
    yield "replace then bytes", d.Sequence([d.Replace("e", "\u0120"), d.ByteLevel()])


def post_processor_cases():
    p = processors
    yield "trim", p.ByteLevel(trim_offsets=True, add_prefix_space=True)
    yield "trim plain", p.ByteLevel(trim_offsets=True, add_prefix_space=False)
    yield "roberta", p.RobertaProcessing(("</s>", 1), ("<s>", 0))
    yield "bert", p.BertProcessing(("</s>", 1), ("<s>", 0))
    template = p.TemplateProcessing(single="<s> <s> $A </s>",
                                    special_tokens=[("<s>", 0), ("</s>", 1)])
    yield "template", template
    yield "template, trim", p.Sequence([template, p.ByteLevel(trim_offsets=True)])
    yield "trim, template", p.Sequence([p.ByteLevel(trim_offsets=True), template])


def base(corpus):
    """Characters and bytes both, what is unknown, and all kinds of added
    tokens."""
    pre = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(),
                                   pre_tokenizers.Metaspace()])
    out = styles.Tokenizer(models.BPE(unk_token="<unk>"))
    out.pre_tokenizer = pre
    styles.train(out, corpus, 900, limit_alphabet=120,
                 special_tokens=["<s>", "</s>", "<unk>"],
                 initial_alphabet=["\u0120", " ", "_"])
    out.add_tokens(styles.added("<mask>", lstrip=True, normalized=False)
                   + styles.added("<tool>", single_word=True, normalized=True)
                   + styles.added("user", rstrip=True, normalized=True))
    return out


def variants(tokenizer):
    """Yields each case by itself, then all of a kind with a second kind."""
    for name, one in normalizer_cases():
        yield f"normalizer {name}", {"normalizer": one}
        yield f"normalizer {name}, metaspace", {
            "normalizer": one,
            "pre_tokenizer": pre_tokenizers.Metaspace(prepend_scheme="first")}
    for name, one in pre_tokenizer_cases():
        yield f"pre-tokenizer {name}", {"pre_tokenizer": one}
    for name, one in decoder_cases():
        yield f"decoder {name}", {"decoder": one}
    for name, one in post_processor_cases():
        yield f"post-processor {name}", {
            "post_processor": one,
            "pre_tokenizer": pre_tokenizers.ByteLevel(add_prefix_space=True)}


def model_variants(content):
    """Yields tokenizer.json with other options of the model."""
    for fuses, unk, has_bytes in itertools.product(
            [False, True], ["<unk>", None], ["none", "some", "all"]):
        model = dict(content["model"], fuse_unk=fuses, unk_token=unk,
                     byte_fallback=has_bytes != "none",
                     vocab=dict(content["model"]["vocab"]))
        for byte in range(0x80 if has_bytes == "some" else 0, 0x100):
            if byte != 0xe3 or has_bytes == "all":
                model["vocab"][f"<0x{byte:02X}>"] = 5000 + byte
        yield f"model {fuses} {unk} {has_bytes}", dict(content, model=model)


def compare_all(compare, folder, lines, count):
    """Returns how many differ."""
    tokenizer = base(lines.corpus(2000))
    num_wrong = num_cases = 0

    def check(name, text):
        nonlocal num_wrong, num_cases
        (folder / "tokenizer.json").write_text(text, encoding="utf-8")
        num_wrong += compare(lines.make(count), name)
        num_cases += 1

    for name, parts in variants(tokenizer):
        one = styles.Tokenizer.from_str(tokenizer.to_str())
        one.pre_tokenizer = None
        for part, value in parts.items():
            setattr(one, part, value)
        check(name, one.to_str())
    for name, content in model_variants(json.loads(tokenizer.to_str())):
        content["pre_tokenizer"] = None
        # Once through the library, which numbers the added tokens anew.
        check(name, styles.Tokenizer.from_str(json.dumps(content)).to_str())
    print(f"{num_cases} files, {count} lines each, {num_wrong} lines differ")
    return num_wrong
