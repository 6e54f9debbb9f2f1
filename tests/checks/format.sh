#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Every C++ file is as clang-format 14 with .clang-format lays it out:
# format.sh [FOLDER], by default the repository.
set -euo pipefail
cd "${1:-.}"
tool=$(command -v clang-format-14 || command -v clang-format || true)
if [ -z "$tool" ] || ! "$tool" --version | grep -q 'version 14'; then
  echo "clang-format 14 is not installed: skipped"
  exit 77
fi
find . -path ./build -prune -o -name 'build-*' -prune -o -name .git -prune \
  -o \( -name '*.cpp' -o -name '*.hpp' \) -print0 \
  | xargs -0 "$tool" --dry-run -Werror
