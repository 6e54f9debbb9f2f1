# SPDX-License-Identifier: Apache-2.0
#
# What samples/quickstart.sh and tests/run.sh share: packages, LibTorch, build.
# To be sourced from the repository's root. Everything is skipped that is there.

cache=${XDG_CACHE_HOME:-$HOME/.cache}/troupe
venv=$cache/venv
torch_version=2.11.0

# Debian 12's names; docs/build.md has a table for Ubuntu 24.04.
packages=(g++ cmake ninja-build ccache git ca-certificates python3 python3-venv
  libcaf-dev libboost-dev libhwy-dev libyaml-cpp-dev nlohmann-json3-dev
  libcli11-dev libicu-dev libpcre2-dev libxxhash-dev zlib1g-dev
  libzstd-dev libssl-dev libsimdjson-dev doctest-dev) # the tests are configured with the rest
test_packages=(clang-format-14 spin)

say() { printf '== %s\n' "$*"; }

missing_packages() {
  local name
  for name in "$@"; do
    dpkg-query -W -f='${Status}' "$name" 2>/dev/null \
      | grep -q 'install ok installed' || printf '%s ' "$name"
  done
}

# install_packages [NAME ...]: the base packages and the named ones.
install_packages() {
  command -v dpkg-query >/dev/null || {
    say "this is no Debian: install by hand (docs/build.md): ${packages[*]} $*"
    return 0
  }
  local missing root=()
  missing=$(missing_packages "${packages[@]}" "$@")
  [ -z "$missing" ] && return 0
  if [ "$(id -u)" != 0 ]; then
    if ! sudo -n true 2>/dev/null && ! { [ -t 0 ] && command -v sudo >/dev/null; }; then
      echo "missing packages; as root: apt-get install $missing" >&2
      exit 2
    fi
    root=(sudo)
  fi
  say "installing $missing"
  "${root[@]}" apt-get update -qq
  # shellcheck disable=SC2086
  DEBIAN_FRONTEND=noninteractive "${root[@]}" apt-get install -y -qq \
    --no-install-recommends $missing >/dev/null
}

# ensure_venv: a Python environment with the PyTorch wheel, which is also where
# LibTorch comes from. The CUDA packages that the wheel asks for are left out
# but for the two that libtorch_cpu needs at load time: gigabytes that a CPU
# build has no use for.
ensure_venv() {
  local marker=$venv/.torch-$torch_version
  [ -e "$marker" ] && return 0
  say "fetching the PyTorch $torch_version wheel into $cache"
  mkdir -p "$cache"
  [ -x "$venv/bin/python" ] || python3 -m venv "$venv"
  "$venv/bin/pip" install -q --disable-pip-version-check --no-deps \
    "torch==$torch_version" nvidia-cuda-runtime nvidia-cuda-cupti
  touch "$marker"
}

ensure_libtorch() {
  [ -n "${TROUPE_LIBTORCH:-}" ] && return 0
  ensure_venv
  TROUPE_LIBTORCH=$(echo "$venv"/lib/python3*/site-packages/torch)
  export TROUPE_LIBTORCH
}

# build_troupe [TARGET ...]: configures once, builds the targets (default: all).
build_troupe() {
  export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
  local build=${TROUPE_BUILD:-build}
  if [ ! -e "$build/build.ninja" ]; then
    say "configuring $build"
    cmake -S . -B "$build" -G Ninja ${TROUPE_CMAKE_ARGS:-} >"/tmp/troupe-configure.$$" 2>&1 \
      || { cat "/tmp/troupe-configure.$$" >&2; exit 1; }
    rm -f "/tmp/troupe-configure.$$"
  fi
  say "building ${*:-everything}"
  ninja -C "$build" --quiet "$@"
}
