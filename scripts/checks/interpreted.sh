#!/usr/bin/env bash
# Suites of the CPU once more without compiled kernels: what interprets is held to the same bounds and rules.
# `bash scripts/checks/interpreted.sh [interpreted | wasm]`: on the interpreter, as CI does, some of those that `npm test` runs on compiled kernels; in
# WebAssembly these, others of pairwise, and all of lazy, in the nightly run. CI has a shorter list for WebAssembly.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
executor=${1:-interpreted}
case $executor in
  interpreted | wasm) ;;
  *) echo "interpreted.sh: interpreted or wasm, not $executor" >&2; exit 2 ;;
esac

suites=(
  packages/kernels/src/{map-reduce/cpu-map-reduce,map-reduce/cpu-several-rows,pairwise/cpu-pairwise,pairwise/cpu-parameters,rows/cpu-rows}.test.ts
  packages/kernels/src/{cdist-grad/cdist-grad-cpu,math/cpu-functions}.test.ts
  packages/kernels/src/{scatter/cpu-scatter,map-reduce/cpu-sums,map-reduce/function-formulas,map-reduce/ranges/cpu-ranges,map-reduce/selection/selection}.test.ts
  packages/tensor/src/{elements,rows-by-index,several-maps,sum-to,tensor,views}.test.ts
  packages/pairwise/src/{cdist,backward-calls}.test.ts
)
if [ "$executor" = interpreted ]; then
  suites+=(
    packages/lazy/src/{reductions,joint-reduction,layouts,random-formulas,fast-math,out-dtype}.test.ts
    packages/lazy/src/keops/keops-cases.test.ts
  )
  patience=()
else
  # What `npm test` has on the interpreter.
  suites+=(packages/tensor/src/map.test.ts packages/pairwise/src/{cdist-backward,run-kernel,run-kernel-backward,weighted-differences}.test.ts)
  # All of lazy, but for GPU tests and what names an executor itself (a bounded heap, the event loop).
  mapfile -t -O "${#suites[@]}" suites < <(find packages/lazy/src -name '*.test.ts' ! -name '*gpu.test.ts' ! -name '*.alone.test.ts' ! -name '*.stress.test.ts' | sort)
  patience=(--testTimeout=120000)
fi
env -u MERCER_TEST_RESULTS MERCER_CPU="$executor" node_modules/.bin/vitest run --typecheck.enabled=false "${patience[@]}" \
  --testNamePattern '^(?!.*without a warning)' "${suites[@]}"
