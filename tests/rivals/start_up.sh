#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Seconds from a command to what its user waits for, the least of several, with
# a warm page cache: the first sampled token of SmolLM2-135M, the help, and
# `troupe inspect` where there is no run.
#   tests/rivals/start_up.sh [BUILD_FOLDER]
# TROUPE_SMOLLM2: as in grpo_step.sh.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:-$here/../../build}" && pwd)
model=${TROUPE_SMOLLM2:-${XDG_CACHE_HOME:-$HOME/.cache}/troupe/smollm2}
empty=$(mktemp -d)
trap 'rm -r "$empty"' EXIT
cd "$empty"

# least NAME COUNT COMMAND...: until the first line of output has come.
least() {
  local name=$1 count=$2 best=999999999 start took line
  shift 2
  for _ in $(seq "$count"); do
    start=${EPOCHREALTIME/./}
    exec 3< <("$@" 2>/dev/null)
    IFS= read -r line <&3 || [ "$name" = inspect ]
    took=$((${EPOCHREALTIME/./} - start))
    cat <&3 >/dev/null
    exec 3<&-
    [ "$took" -lt "$best" ] && best=$took
  done
  printf '%-24s %4d.%03d ms, least of %d\n' "$name" $((best / 1000)) \
    $((best % 1000)) "$count"
}

least "first token" 5 "$build/bin/troupe" generate --model "$model" \
  --prompt "The capital of France is" --max-new-tokens 1
least "help" 10 "$build/bin/troupe" --help
least "inspect" 10 "$build/bin/troupe" inspect
