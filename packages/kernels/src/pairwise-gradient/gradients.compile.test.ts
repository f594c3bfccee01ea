import { nvrtc } from '@mercer/cuda-runtime';
import { describe, expect, test } from 'vitest';
import { useNvrtc } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import type { NamedKernel } from '../named-kernel.test-support.js';
import { H200 } from '../testing/h200.test-support.js';
import { complaints } from '../testing/nvrtc-complaints.test-support.js';
import { defaultGradientKernels } from './default-gradients.test-support.js';

useNvrtc();

/** Those of float32: of the others most differ in the type, or in how many parts there are. */
const kernels = defaultGradientKernels(H200).filter(
  ({ name }) => name.includes('float32') && !/, (5|16) parts/.test(name),
);

/** Totals of rows and columns, and values of a pair that all columns read, rest in memory between the loops. */
const restingBytes = (name: string): number =>
  name.includes('loops') ? 512 : name.includes('float64') ? 64 : 0;

/** A column number is declared where a formula may read it. */
const isUnusedColumn = (line: string): boolean =>
  /variable "column" was declared but never referenced|suppressed with/.test(line);

describe.skipIf(!nvrtc.isAvailable())(
  'sums of the formulas of gradients through NVRTC (skipped only where none is found: set MERCER_CUDA_HOME or fill .nvrtc)',
  () => {
    test.each(['sm_90a', 'sm_120'])('compile for %s', { timeout: 120_000 }, async (arch) => {
      const some: readonly NamedKernel[] = arch === 'sm_90a' ? kernels : kernels.slice(0, 3);
      expect(some.length).toBeGreaterThan(2);
      const found = await complaints(some, arch, restingBytes);
      expect(found.filter((line) => !isUnusedColumn(line))).toEqual([]);
    });
  },
);
