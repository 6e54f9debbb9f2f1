#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# golden_decoder.sh BINARY KIND ...: compares the decoder with transformers, for small
# models of the kinds that decoder_reference.py makes, or for smollm2, the real one.
# Exit code 77: skipped, with the reason. The work folder is removed.
set -euo pipefail
binary=$1
kinds=("${@:2}")
python=${XDG_CACHE_HOME:-$HOME/.cache}/troupe/venv/bin/python
here=$(cd "$(dirname "$0")" && pwd)
if [[ ! -x $python ]] || ! "$python" -c 'import transformers' 2>/dev/null; then
  echo "skipped: no transformers under $python; tests/run.sh makes it"
  exit 77
fi
if [[ ${kinds[0]} == smollm2 && -z ${TROUPE_FULL:-} ]]; then
  echo "skipped: SmolLM2-135M takes minutes; set TROUPE_FULL=1"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive HF_HUB_OFFLINE=1
if [[ ${kinds[0]} == smollm2 ]]; then
  OMP_NUM_THREADS=2
  "$python" "$here/../../samples/smollm2/prepare.py" "$work/smollm2"
  "$python" "$here/decoder_reference.py" "$work" "$work/smollm2/model"
  kinds=(real)
else
  "$python" "$here/decoder_reference.py" "$work" "${kinds[@]}"
fi
failed=0
for kind in "${kinds[@]}"; do
  echo "== $kind"
  "$binary" "$work/$kind" || failed=1
done
"$python" "$here/decoder_reference.py" --same "${kinds[@]/#/$work/}"
exit $failed
