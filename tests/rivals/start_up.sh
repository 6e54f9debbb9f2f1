#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Seconds from a command to what its user waits for, the least of several, with
# a warm page cache: the first sampled token of SmolLM2-135M, the help, and
# `troupe inspect` where there is no run.
#   tests/rivals/start_up.sh [BUILD_FOLDER]
# Exits with 1 if one takes longer than the README says. Needs what
# grpo_step.sh needs.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/smollm2.sh"
build=$(cd "${1:-$here/../../build}" && pwd)
empty=$(mktemp -d)
trap 'rm -r "$empty"' EXIT
cd "$empty"

missed=0
# least NAME LIMIT_MS COUNT COMMAND...: until the first line of output has come.
least() {
  local name=$1 limit=$2 count=$3 best=999999999 start took line
  shift 3
  for _ in $(seq "$count"); do
    start=${EPOCHREALTIME/./}
    exec 3< <("$@" 2>/dev/null)
    IFS= read -r line <&3 || [ "$name" = inspect ]
    took=$((${EPOCHREALTIME/./} - start))
    cat <&3 >/dev/null
    exec 3<&-
    [ "$took" -lt "$best" ] && best=$took
  done
  printf '%-24s %4d.%03d ms, least of %d, wanted: %d ms\n' "$name" \
    $((best / 1000)) $((best % 1000)) "$count" "$limit"
  [ "$best" -le $((limit * 1000)) ] || missed=1
}

least "first token" 2000 5 "$build/bin/troupe" generate --model "$model" \
  --prompt "The capital of France is" --max-new-tokens 1
least "help" 50 10 "$build/bin/troupe" --help
least "inspect" 50 10 "$build/bin/troupe" inspect
exit $missed
