import { add, call, exp, finish, mul, variable, type RealExpr } from '@mercer/formula/plan';
import { expect, it } from 'vitest';
import type { CpuLimits } from '../device-limits.js';
import { emitMap } from '../elementwise/index.js';
import { planOne } from '../elementwise/one-result.test-support.js';
import type { CpuKernel, EmittedKernel } from '../emitted-kernel.js';
import { writeTileProgram, tileWork } from './tile-program.js';

const limits: CpuLimits = {
  kind: 'cpu',
  level: 'x86-64-v3',
  cores: 2,
  l1Bytes: 32768,
  l2Bytes: 1048576,
};
const x = variable('x');

function programOf(kernel: EmittedKernel): NonNullable<CpuKernel['program']> {
  if (kernel.dialect !== 'cpu' || kernel.program === undefined) throw new Error('no program');
  return kernel.program;
}

function workOf(expr: RealExpr, dtype: 'float32' | 'float64' = 'float32'): number {
  const [shape, strides] = [[10], [1]];
  const inputs = [{ name: 'x', dtype, strides }];
  const { plan } = planOne({ expr, shape, inputs, out: { dtype, strides } }, limits);
  return tileWork(programOf(emitMap(plan)), limits.level);
}

it('is additions of vectors: more for more operations, for heavy ones, and for wider values', () => {
  const sum = workOf(add(x, 1));
  expect(sum).toBe(1 / 8); // of eight values
  expect(workOf(add(mul(x, x), mul(x, add(x, 1))))).toBeGreaterThan(sum);
  expect(workOf(exp(x))).toBeGreaterThan(workOf(mul(x, add(x, 1))));
  expect(workOf(call('sin', [x]))).toBeGreaterThan(workOf(exp(x)));
  expect(workOf(add(x, 1), 'float64')).toBe(2 * sum);
});

it('counts the instructions of every code, wherever they stand', () => {
  const code = (operations: readonly number[]) => ({
    slots: [
      [0, 0],
      [0, 1],
    ] as const,
    instructions: operations.map((operation) => [operation, 2, 0, 1, 0] as const),
    roots: [2],
    registers: 3,
  });
  const add = 1;
  const program = finish(
    writeTileProgram({
      family: 'pairwise',
      dtype: 'float32',
      settings: [7, 7, 7],
      constants: [],
      codes: [code([]), code([add, add]), code([add, add, add])],
    }),
  );
  expect(tileWork(program, 'x86-64-v2')).toBe(5 / 4);
});
