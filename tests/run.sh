#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs what is missing, builds everything, runs the tests. Closes with
# ctest's own line.
#   tests/run.sh            what CI runs
#   tests/run.sh --full     adds the real model, rivals and long repetitions
#   tests/run.sh -L unit    further arguments go to ctest
set -euo pipefail
cd "$(dirname "$0")/.."
source tests/support/setup.sh

if [ "${1:-}" = --full ]; then
  export TROUPE_FULL=1
  shift
fi

install_packages "${test_packages[@]}"
ensure_venv
ensure_libtorch
say "the tests' Python packages"
bash tests/support/python_packages.sh "$venv"
build_troupe

say "testing"
exec ctest --test-dir "${TROUPE_BUILD:-build}" --output-on-failure -j 2 "$@"
