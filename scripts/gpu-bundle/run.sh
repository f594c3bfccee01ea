#!/usr/bin/env bash
# Runs Mercer on a Linux x86-64 host that has a CUDA driver and toolkit, and needs neither Node nor network.
# The bundle unpacks once per machine into $MERCER_BUNDLE_DIR, else $TMPDIR or /tmp, else a folder beside this file.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: bash run.sh COMMAND
  test [FILTER...]       every GPU test (a name filters files); ends with the counts
  test --cpu             the part that needs no GPU
  mercer ARGUMENTS...    the mercer command: doctor, cdist, demo, profile, ...
  bench ARGUMENTS...     the same as: mercer bench ARGUMENTS...
  report [--out FILE]    GPU tests and kernel hashes, written to FILE (bench/results/gpu.json)
  node ARGUMENTS...      the bundled Node; imports of @mercer/* resolve from scripts below the unpacked folder
  path                   prints the unpacked folder
TEXT
}

fail() {
  printf 'run.sh: %s\n' "$1" >&2
  exit 1
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
id=$(<"$here/id")

[ "$(uname -s) $(uname -m)" = 'Linux x86_64' ] || fail "this bundle is for Linux x86_64, this is $(uname -s) $(uname -m)."

decompress() { # FILE: to standard output
  case $1 in
    *.gz) gzip -dc "$1" ;;
    *.xz)
      if command -v xz >/dev/null; then xz -dc "$1"
      elif command -v python3 >/dev/null && python3 -c 'import lzma' 2>/dev/null; then
        python3 -c 'import lzma, shutil, sys; shutil.copyfileobj(lzma.open(sys.argv[1]), sys.stdout.buffer, 1 << 20)' "$1"
      elif command -v busybox >/dev/null; then busybox xz -dc "$1"
      else fail 'no xz, python3 or busybox to unpack with. Build the bundle with: pnpm gpu:bundle --gzip'
      fi ;;
  esac
}

# The folder is ours alone: a name that another user could have prepared in a shared folder is refused.
private_folder() {
  [ ! -e "$1" ] && { mkdir -p "$(dirname "$1")" && mkdir -m 700 "$1"; } 2>/dev/null && return 0
  [ -d "$1" ] && [ ! -L "$1" ] && [ -O "$1" ] && [ -w "$1" ]
}

# Node needs a C++ library; a host without one gets the bundle's.
node_runs() { # FOLDER
  "$1/bin/node" --version >/dev/null 2>&1 && return 0
  LD_LIBRARY_PATH=$1/app/lib "$1/bin/node" --version >/dev/null 2>&1 || return 1
  export LD_LIBRARY_PATH=$1/app/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
}

unpack() { # FOLDER: leaves FOLDER/ready
  local target=$1
  private_folder "$target" || return 1
  [ -f "$target/ready" ] && return 0
  (
    if command -v flock >/dev/null; then flock 9; fi
    [ -f "$target/ready" ] && exit 0
    printf 'run.sh: unpacking into %s\n' "$target" >&2
    mkdir -p "$target/bin" "$target/app"
    for archive in "$here"/node.*; do decompress "$archive" >"$target/bin/node.part"; done
    chmod 755 "$target/bin/node.part"
    mv -f "$target/bin/node.part" "$target/bin/node"
    for archive in "$here"/app.tar.*; do decompress "$archive" | tar -x -C "$target/app"; done
    : >"$target/ready"
  ) 9>"$target/lock" || return 1
}

choose() {
  local candidate
  for candidate in "${MERCER_BUNDLE_DIR:-}" "${TMPDIR:-/tmp}/mercer-gpu-$(id -u)-$id" "$here/unpacked-$id"; do
    [ -n "$candidate" ] || continue
    if unpack "$candidate" && node_runs "$candidate"; then
      home=$candidate
      return
    fi
    problem=$("$candidate/bin/node" --version 2>&1 || true)
  done
  fail "could not unpack and start the bundled Node (${problem:-no writable folder}). Set MERCER_BUNDLE_DIR to a writable folder on a file system that allows running programs."
}

command=${1:-help}
[ $# -gt 0 ] && shift
case $command in
  help | --help | -h) usage; exit 0 ;;
  test | mercer | bench | report | node | path) ;;
  *) usage >&2; exit 2 ;;
esac

home= problem=
choose
export PATH="$home/bin:$home/app/node_modules/.bin:${PATH:-/usr/bin:/bin}"
app=$home/app
mercer=$app/packages/cli/bin/mercer.js

case $command in
  path) printf '%s\n' "$home" ;;
  node) exec "$home/bin/node" "$@" ;;
  mercer) exec "$home/bin/node" "$mercer" "$@" ;;
  bench) exec "$home/bin/node" "$mercer" bench "$@" ;;
  report) exec "$home/bin/node" "$app/scripts/gpu-report/write.mjs" "$@" ;;
  test)
    export MERCER_BUNDLE_TESTS=gpu
    if [ "${1:-}" = --cpu ]; then
      export MERCER_BUNDLE_TESTS=cpu CUDA_VISIBLE_DEVICES=-1
      shift
    fi
    cd "$app"
    exec "$home/bin/node" node_modules/vitest/vitest.mjs run "$@" ;;
esac
