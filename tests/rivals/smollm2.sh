# SPDX-License-Identifier: Apache-2.0
# To be sourced: the venv, and SmolLM2-135M as a Hugging Face folder, made once.
if [ -z "${TROUPE_FULL:-}" ]; then
  echo "skipped: takes long; tests/run.sh --full runs it"
  exit 77
fi
cache=${XDG_CACHE_HOME:-$HOME/.cache}/troupe
venv=$cache/venv
model=$cache/samples-smollm2/model
[ -e "$model/tokenizer_config.json" ] || "$venv/bin/python" \
  "$here/../../samples/smollm2/prepare.py" "$cache/samples-smollm2"
