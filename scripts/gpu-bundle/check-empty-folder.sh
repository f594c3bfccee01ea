#!/usr/bin/env bash
# Runs the CPU part of .gpu/ from an empty folder, with an empty environment and no Node on the PATH.
set -euo pipefail

bundle=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/.gpu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/tools" "$folder/home" "$folder/tmp" "$folder/work"
# What a bare host has, and the compiler that CPU kernels need; Node and npm are left out.
for tool in bash sh env cat chmod cp dirname flock gzip id ls mkdir mv rm tar uname xz c++ g++ cc gcc as ld; do
  if found=$(command -v "$tool"); then ln -s "$found" "$folder/tools/$tool"; fi
done
cp -r "$bundle" "$folder/work/.gpu"
cd "$folder/work"
bare=(env -i "PATH=$folder/tools" "HOME=$folder/home" "TMPDIR=$folder/tmp" NO_COLOR=1 CI=true)
if "${bare[@]}" bash -c 'command -v node || command -v npm'; then
  echo 'check-empty-folder: Node is on the PATH that should have none' >&2
  exit 1
fi
[ -z "${MERCER_TEST_RESULTS:-}" ] || bare+=("MERCER_TEST_RESULTS=$MERCER_TEST_RESULTS")
"${bare[@]}" bash .gpu/run.sh node --version
"${bare[@]}" bash .gpu/run.sh mercer doctor
"${bare[@]}" bash .gpu/run.sh test --cpu
[ "$(ls -A "$folder/work")" = .gpu ] || { echo 'check-empty-folder: something was written beside .gpu' >&2; exit 1; }
