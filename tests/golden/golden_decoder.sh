#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# golden_decoder.sh BINARY [tiny|smollm2]: compares the decoder with transformers.
# Exit code 77: skipped, with the reason. The work folder is removed.
set -euo pipefail
binary=$1 kind=${2:-tiny}
python=${XDG_CACHE_HOME:-$HOME/.cache}/troupe/venv/bin/python
here=$(cd "$(dirname "$0")" && pwd)
if [[ ! -x $python ]] || ! "$python" -c 'import transformers' 2>/dev/null; then
  echo "skipped: no transformers under $python; tests/run.sh makes it"
  exit 77
fi
if [[ $kind == smollm2 && -z ${TROUPE_FULL:-} ]]; then
  echo "skipped: SmolLM2-135M takes minutes; set TROUPE_FULL=1"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive HF_HUB_OFFLINE=1
model=()
if [[ $kind == smollm2 ]]; then
  OMP_NUM_THREADS=2
  "$python" "$here/../../samples/smollm2/prepare.py" "$work/smollm2"
  model=("$work/smollm2/model")
fi
"$python" "$here/decoder_reference.py" "$work" "${model[@]}"
"$binary" "$work"
"$python" "$here/decoder_reference.py" --same "$work"
