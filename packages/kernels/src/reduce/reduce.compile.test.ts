import { nvrtc } from '@mercer/cuda-runtime';
import { describe, expect, test } from 'vitest';
import { useNvrtc } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { H200 } from '../testing/h200.test-support.js';
import { ARCHITECTURES, chosenFor, complaints } from '../testing/nvrtc-complaints.test-support.js';
import type { NamedKernel } from '../named-kernel.test-support.js';
import { emitReduce } from './cuda-reduce.js';
import { isSpread, planReduce } from './plan-reduce.js';
import { reduceProblems } from './reduce-problems.test-support.js';

useNvrtc();
const available = nvrtc.isAvailable();

const kernels = new Map<string, NamedKernel>();
const problems = (['float32', 'float64'] as const).flatMap(reduceProblems);
// Kinds that came later stand behind the others, since a selection goes by places.
for (const problem of [
  ...problems.filter(({ kind }) => !isSpread(kind)),
  ...problems.filter(({ kind }) => isSpread(kind)),
]) {
  for (const { kernel } of emitReduce(planReduce(problem, H200).plan).steps) {
    kernels.set(kernel.source, { name: kernel.name, kernel });
  }
}

describe.skipIf(!available)(
  'reductions over axes through NVRTC (skipped only where none is found: set MERCER_CUDA_HOME or fill .nvrtc)',
  () => {
    test.each(ARCHITECTURES)(
      'compile for %s without a spill',
      { timeout: 120_000 },
      async (arch) => {
        const all = [...kernels.values()];
        const some = all.filter((_, i) => i % 7 === 2);
        expect(await complaints(chosenFor(arch, all, some), arch)).toEqual([]);
      },
    );
  },
);
