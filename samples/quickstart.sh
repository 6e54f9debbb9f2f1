#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# From nothing to a language model that learned by reinforcement: installs what
# is missing, builds, runs samples/addition.yaml, and shows what came of it.
set -euo pipefail
cd "$(dirname "$0")/.."
source tests/support/setup.sh

install_packages
ensure_libtorch
build_troupe troupe troupe_rank

# A folder of its own: it is emptied, and no other command writes there.
run=runs/quickstart
rm -rf "$run"
build/bin/troupe run samples/addition.yaml "run.directory=$run"
python3 samples/show_run.py "$run"
