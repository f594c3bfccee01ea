import { describe, expect, it } from 'vitest';
import {
  compileKernel,
  compilers,
  compilerVerdict,
  runnableLevels,
} from '../testing/cpu-harness.test-support.js';
import { runCpuKernel } from '../testing/cpu-program.test-support.js';
import { random } from '../testing/pairwise-check.test-support.js';
import { lanesOf } from '../emit/cpu-vector.js';
import { cpuGaussianSum, cpuGaussianSumKernel } from './cpu-limit-kernels.js';

const [compiler = 'c++'] = compilers();
const isInterpreted = process.env['MERCER_CPU'] === 'interpreted';

describe.each(runnableLevels())('the Gaussian sum by hand, %s', (level) => {
  const kernel = cpuGaussianSumKernel({ level });

  // it has no program for the interpreter
  it.skipIf(isInterpreted)('is that of float64', () => {
    const library = compileKernel(compiler, kernel.source, level);
    const lanes = lanesOf(level, 'float32');
    for (const [rowsI, rowsJ, size] of [
      [1, 1, 1],
      [2 * lanes - 1, 255, 0.3],
      [2 * lanes + 1, 257, 2],
      [33, 600, 8],
    ] as const) {
      const filled = (count: number, by: number): Float32Array =>
        Float32Array.from({ length: count }, () => (2 * random() - 1) * by);
      const [x, y, b] = [filled(3 * rowsI, size), filled(3 * rowsJ, size), filled(rowsJ, 1)];
      const out = new Float32Array(rowsI).fill(NaN);
      runCpuKernel(kernel, library, {
        scalars: { rowsI, rowsJ },
        pointers: { x, y, b, out },
      });
      out.forEach((value, i) => {
        let [sum, bound] = [0, 0];
        for (let j = 0; j < rowsJ; j++) {
          let distance = 0;
          for (let c = 0; c < 3; c++) distance += ((x[3 * i + c] ?? 0) - (y[3 * j + c] ?? 0)) ** 2;
          const term = Math.exp(-distance) * (b[j] ?? 0);
          sum += term;
          // rounding of the distance and the exponential, of the sum, and what counts for distances beyond 87
          bound += Math.abs(term) * (4 * distance + 4 + Math.sqrt(rowsJ)) * 2 ** -24 + 2 ** -125;
        }
        expect(Math.abs(value - sum), `row ${i}`).toBeLessThanOrEqual(bound);
      });
    }
  });

  it('compiles without a warning, and counts its tasks and pairs', () => {
    expect(compilerVerdict(compiler, kernel.source, level)).toEqual({ status: 0, log: '' });
    const { cost, geometry } = kernel;
    const rowsI = 4 * lanesOf(level, 'float32') + 1;
    expect(geometry({ rowsI })).toEqual({ tasks: 3, chunk: 1, scratchBytes: 0 });
    expect(cost?.({ rowsI: 10, rowsJ: 100 })).toEqual({ bytes: 1760, flops: 34_000 });
  });
});

it('has a key of its own', () => {
  expect(cpuGaussianSum({ level: 'x86-64-v3' }).limit).toBe('cpu-fp32-gaussian-sum');
});
