#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Seconds a GRPO step and peak memory, Troupe beside TRL's GRPOTrainer, in
# turns (A, B, A, B): 4 prompts of 32 tokens x 8 samples of 64 tokens, float32,
# two threads, the same micro-batches, prompts and reward (letter_share.py).
#   tests/rivals/grpo_step.sh [BUILD_FOLDER] [option of grpo_step.py ...]
# Exits with 1 if a ratio is missed. Needs TROUPE_FULL=1 and the venv that
# tests/run.sh --full makes. Run it on an idle machine.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/smollm2.sh"
build=$(cd "${1:-$here/../../build}" && pwd)
shift || true
lscpu | grep -E '^(Model name|CPU\(s\)|L3)' || true
uptime
exec "$venv/bin/python" "$here/grpo_step.py" --troupe "$build/bin/troupe" \
  --smollm2 "$model" "$@"
