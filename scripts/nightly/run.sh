#!/usr/bin/env bash
# What is too long for CI, one after the other: `bash scripts/nightly/run.sh [--list] [NAME...]`, after `pnpm build`. Each step has a log in
# MERCER_NIGHTLY_LOGS (a folder, from the root of the repository; build/nightly unless set), beside them summary.txt. Goes on after a failed
# step; the exit status is 1 then. A step that this machine has not the programs for is SKIPPED in the summary, and changes no status.
# `--list` runs nothing: it prints the steps, and fails where a script of one is missing. NAMEs choose among them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

names=(nodes mutants wasm arm64 site release smoke fuzz)
declare -A commands=(
  [nodes]='node scripts/node-versions.mjs'
  [mutants]='PATH=$PWD/node_modules/.bin:$PATH pnpm test:mutants'
  [wasm]='node scripts/build-wasm.mjs --required && bash scripts/checks/interpreted.sh wasm'
  [arm64]='node scripts/linux-arm64.mjs --all'
  [site]='node scripts/site/build.mjs && node scripts/site/run-programs.mjs'
  [release]='node scripts/linux-arm64.mjs --build && node scripts/build-wasm.mjs --required && node scripts/release/same-bytes.mjs --all'
  # of the tarballs that the step before has packed
  [smoke]='node scripts/nightly/smoke-tarballs.mjs'
  [fuzz]='node scripts/nightly/interpreter-fuzz.mjs --minutes 60'
)

list=false
chosen=()
for word in "$@"; do
  if [ "$word" = --list ]; then list=true
  elif [ -n "$word" ] && [ -n "${commands[$word]:-}" ]; then chosen+=("$word")
  else
    echo "nightly: there is no step '$word'. The steps are ${names[*]}" >&2
    exit 2
  fi
done
[ ${#chosen[@]} -gt 0 ] || chosen=("${names[@]}")

if $list; then
  status=0
  for name in "${chosen[@]}"; do
    printf '%-8s %s\n' "$name" "${commands[$name]}"
    for file in $(grep -oE 'scripts/[^ ]+' <<<"${commands[$name]}"); do
      [ -f "$file" ] || { echo "missing: $file"; status=1; }
    done
  done
  exit "$status"
fi

logs=${MERCER_NIGHTLY_LOGS:-build/nightly}
mkdir -p "$logs"
summary=$logs/summary.txt
printf '%s, %s\n' "$(date -u +%FT%TZ)" "$(git rev-parse --short HEAD)" >"$summary"
failed=0
for name in "${chosen[@]}"; do
  started=$SECONDS
  verdict=ok
  printf '\n=== %s: %s\n' "$name" "${commands[$name]}"
  bash -euo pipefail -c "${commands[$name]}" 2>&1 | tee "$logs/$name.log" || { verdict=FAILED; failed=1; }
  if [ "$verdict" = ok ] && grep -q '^SKIPPED' "$logs/$name.log"; then verdict=SKIPPED; fi
  printf '%6ds  %-7s  %s\n' $((SECONDS - started)) "$verdict" "$name" >>"$summary"
done
echo
cat "$summary"
exit "$failed"
