# SPDX-License-Identifier: Apache-2.0
"""The reward of both sides: the share of letters in a completion."""


def letter_share(completions, **_columns):
    return [sum(c.isalpha() for c in text) / (len(text) + 1)
            for text in completions]
