#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# no_libtorch.sh BINARY: the binary loads no LibTorch. Skipped (77) when it was
# not built.
[ -e "$1" ] || { echo "skipped: no $1"; exit 77; }
libraries=$(ldd "$1") || { echo "ldd $1 failed"; exit 1; }
if echo "$libraries" | grep -E 'torch|libc10'; then
  echo "$1 loads LibTorch"
  exit 1
fi
