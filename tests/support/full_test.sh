#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a command with the venv's Python, or is skipped without TROUPE_FULL:
#   full_test.sh SCRIPT.py ...
set -euo pipefail
if [ -z "${TROUPE_FULL:-}" ]; then
  echo "skipped: takes long; tests/run.sh --full runs it"
  exit 77
fi
exec "${XDG_CACHE_HOME:-$HOME/.cache}/troupe/venv/bin/python" -B "$@"
