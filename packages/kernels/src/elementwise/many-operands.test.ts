import { add, mul, sub, variable, type Expr } from '@mercer/formula';
import { describe, expect, test } from 'vitest';
import type { DeviceLimits } from '../device-limits.js';
import type { CpuKernel, CudaKernel } from '../emitted-kernel.js';
import {
  compileKernel,
  compilers,
  cpuTestLimits,
  runnableLevels,
} from '../testing/cpu-harness.test-support.js';
import { runCpuKernel, runInterpreted } from '../testing/cpu-program.test-support.js';
import { runCudaKernel } from '../testing/cuda-emulator.test-support.js';
import { H200 } from '../testing/h200.test-support.js';
import { emitMap } from './emit.js';
import { planMap } from './plan-map.js';

const level = runnableLevels().at(-1) ?? 'x86-64-v2';
const onCpu = cpuTestLimits(level);

/** A map of so many inputs, its memory, and what it gives; the numbers are whole, so that float32 is exact. */
function madeMap(count: number, transposed: boolean, limits: DeviceLimits) {
  const [rows, columns] = [3, 350];
  const strides = transposed ? [1, rows] : [columns, 1];
  const name = (k: number) => `v${k}`;
  const factor = (k: number) => (k % 3) + 1;
  const all = Array.from({ length: count }, (_, k) => k);
  const terms = all.map((k): Expr => mul(factor(k), variable(name(k))));
  const sum = terms.reduce((a, b) => add(a as never, b as never));
  const difference = sub(variable(name(0)), variable(name(count - 1)));
  const to = { dtype: 'float32', strides: [columns, 1] } as const;
  const { plan, scalars } = planMap(
    {
      shape: [rows, columns],
      results: [sum, difference].map((expr) => ({ expr, ...to })),
      inputs: all.map((k) => ({ name: name(k), dtype: 'float32', strides })),
    },
    limits,
  );
  const memory = all.map((k) =>
    Float32Array.from({ length: rows * columns }, (_, i) => ((i * 7 + k * 5) % 11) - 5),
  );
  const outs = [0, 1].map(() => new Float32Array(rows * columns));
  const wanted = outs.map(() => new Float32Array(rows * columns));
  for (let i = 0; i < rows * columns; i++) {
    const at = transposed ? Math.floor(i / columns) + (i % columns) * rows : i;
    const values = memory.map((x) => x[at] as number);
    (wanted[0] as Float32Array)[i] = values.reduce((total, x, k) => total + factor(k) * x, 0);
    (wanted[1] as Float32Array)[i] = (values[0] as number) - (values.at(-1) as number);
  }
  const pointers = {
    ...Object.fromEntries(memory.map((x, k) => [`x${k}`, x])),
    ...Object.fromEntries(outs.map((out, r) => [`out${r}`, out])),
  };
  return { kernel: emitMap(plan), scalars, pointers, outs, wanted };
}

const CASES = [
  [17, false],
  [40, true],
  [100, false],
  [200, false],
  [253, false],
] as const;

describe('maps of many inputs', () => {
  test.each([...CASES, [400, true]] as const)(
    'of %i, transposed %s, on a CPU',
    (count, transposed) => {
      const interpreted = madeMap(count, transposed, onCpu);
      runInterpreted(interpreted.kernel, level, interpreted);
      expect(interpreted.outs).toEqual(interpreted.wanted);
      const compiled = madeMap(count, transposed, onCpu);
      // long texts are optimized with MERCER_TEST_FULL=1, which takes seconds
      const library = compileKernel(compilers()[0] ?? 'c++', compiled.kernel.source, level, {
        optimized: count <= 100 || process.env['MERCER_TEST_FULL'] === '1',
      });
      runCpuKernel(compiled.kernel as CpuKernel, library, compiled);
      expect(compiled.outs).toEqual(compiled.wanted);
    },
  );

  test.each(CASES)('of %i, transposed %s, on a GPU', (count, transposed) => {
    const { kernel, scalars, pointers, outs, wanted } = madeMap(count, transposed, H200);
    runCudaKernel(kernel as CudaKernel, { scalars, pointers: Object.values(pointers) });
    expect(outs).toEqual(wanted);
  });
});
