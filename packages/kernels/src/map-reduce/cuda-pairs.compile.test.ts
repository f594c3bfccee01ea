import { nvrtc } from '@mercer/cuda-runtime';
import { describe, expect, test } from 'vitest';
import { useNvrtc } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { distinctKernels, type NamedKernel } from '../named-kernel.test-support.js';
import { H200 } from '../testing/h200.test-support.js';
import { chosenFor, complaints, EVERY_PLAN } from '../testing/nvrtc-complaints.test-support.js';
import { emitMapReduce } from './emit.js';
import { PAIR_CASES, LOOPED_PAIR_CASES } from './pair-cases.test-support.js';
import { planMapReduce } from './plan.js';

useNvrtc();
const available = nvrtc.isAvailable();

/** Totals rest in memory between two merges, once in 256 rows; many components of a pair are read with an address each. */
function restingBytes(name: string): number {
  if (name.includes('loops')) return 448;
  return name.includes('float64') || name.includes('direct') ? 64 : 0;
}

function kernels(): NamedKernel[] {
  // 40 weights and as many sums are more than a thread's registers, with values of pairs or without
  const cases = [...PAIR_CASES, ...LOOPED_PAIR_CASES].filter(
    ([name]) => !name.includes('long weights'),
  );
  const programs = cases.map(([, one], n) => {
    const { reduction, further = [], storage } = one;
    const isDouble = n % 3 === 2 && n <= PAIR_CASES.length && storage === undefined;
    const dtype = isDouble ? 'float64' : 'float32';
    // parts that are merged, or not
    const rows = n % 2 === 0 ? 1000 : 1_000_000;
    const [rowsI, rowsJ] = reduction.axis === 1 ? [rows, 100_000] : [100_000, rows];
    const problem = { reduction, further, storage, dtype, batch: 1, rowsI, rowsJ } as const;
    return emitMapReduce(planMapReduce(problem, H200));
  });
  return distinctKernels(programs);
}

describe.skipIf(!available)(
  'values of pairs through NVRTC (skipped only where none is found: set MERCER_CUDA_HOME or fill .nvrtc)',
  () => {
    test.each(EVERY_PLAN)('compile for %s without a spill', { timeout: 300_000 }, async (arch) => {
      expect(await complaints(chosenFor(arch, kernels()), arch, restingBytes)).toEqual([]);
    });
  },
);
