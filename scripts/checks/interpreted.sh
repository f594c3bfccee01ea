#!/usr/bin/env bash
# The CPU's suites once more without compiled kernels: what interprets is held to the same bounds and rules.
# `bash scripts/checks/interpreted.sh [interpreted | wasm]`; in WebAssembly it is the nightly run, of which CI runs a part.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
executor=${1:-interpreted}

suites=(
  packages/kernels/src/{map-reduce/cpu-map-reduce,map-reduce/cpu-rows-together,pairwise/cpu-pairwise,pairwise/cpu-parameters,rows/cpu-rows}.test.ts
  packages/kernels/src/{cdist-grad/cdist-grad-cpu,math/cpu-functions}.test.ts
  packages/kernels/src/{scatter/cpu-scatter,map-reduce/cpu-sums,map-reduce/function-formulas,map-reduce/ranges/cpu-ranges,map-reduce/selection/selection}.test.ts
  packages/tensor/src/{elements,map,rows-by-index,several-maps,sum-to,tensor,views}.test.ts
  packages/pairwise/src/{cdist,weighted-differences,cdist-backward,backward-calls,run-kernel,run-kernel-backward}.test.ts
)
# All of lazy, whatever files there are, but for the two that say themselves which executor runs (a bounded heap, the event loop); they run
# on both in npm test.
mapfile -t -O "${#suites[@]}" suites < <(find packages/lazy/src -name '*.test.ts' ! -name '*gpu.test.ts' ! -name '*.alone.test.ts' ! -name '*.stress.test.ts' | sort)
patience=()
[ "$executor" = interpreted ] || patience=(--testTimeout=120000)
env -u MERCER_TEST_RESULTS MERCER_CPU="$executor" node_modules/.bin/vitest run --typecheck.enabled=false "${patience[@]}" \
  --testNamePattern '^(?!.*without a warning)' "${suites[@]}"
