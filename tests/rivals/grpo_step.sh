#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Seconds a GRPO step and peak memory, Troupe beside TRL's GRPOTrainer, in
# turns (A, B, A, B): 4 prompts of 32 tokens x 8 samples of 64 tokens, float32,
# two threads, the same micro-batches, prompts and reward (letter_share.py).
#   tests/rivals/grpo_step.sh [BUILD_FOLDER] [option of grpo_step.py ...]
# TROUPE_SMOLLM2: a folder of SmolLM2-135M (samples/smollm2/prepare.py makes
# one); without it only the tiny Llama is measured. Needs the tests' venv with
# TRL: TROUPE_FULL=1 tests/support/python_packages.sh VENV. Run it on an idle
# machine.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=${1:-$here/../../build}
shift || true
venv=${XDG_CACHE_HOME:-$HOME/.cache}/troupe/venv
model=${TROUPE_SMOLLM2:-${XDG_CACHE_HOME:-$HOME/.cache}/troupe/smollm2}
lscpu | grep -E '^(Model name|CPU\(s\)|L3)' || true
uptime
options=()
[ -e "$model/model.safetensors" ] && options=(--smollm2 "$model")
exec "$venv/bin/python" "$here/grpo_step.py" --troupe "$build/bin/troupe" \
  "${options[@]}" "$@"
