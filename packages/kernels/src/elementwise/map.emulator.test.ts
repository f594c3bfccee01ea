import {
  add,
  evaluate,
  lt,
  max,
  mul,
  pow,
  print,
  select,
  sub,
  variable,
  type Expr,
} from '@mercer/formula';
import { describe, expect, test } from 'vitest';
import type { CudaKernel } from '../emitted-kernel.js';
import { runCudaKernel, type Memory } from '../testing/cuda-emulator.test-support.js';
import { H200 } from '../testing/h200.test-support.js';
import { emitMap } from './emit.js';
import { planOne, type OneResult } from './one-result.test-support.js';

const x = variable('x');
const y = variable('y');
const scale = variable('scale');
const row = variable('row');
const column = variable('column');

/** Runs a map over memory by the names of its inputs; gives the mode of the plan. */
function run(problem: OneResult, memory: Readonly<Record<string, Memory>>, out: Memory): string {
  const { plan, scalars, inputs, outOffset } = planOne(problem, H200);
  const pointers = inputs.map(({ index, offset }) => {
    const name = problem.inputs[index]?.name ?? '';
    const given = memory[name];
    if (given === undefined) throw new TypeError(`no memory for ${name}`);
    return given.subarray(offset);
  });
  runCudaKernel(emitMap(plan) as CudaKernel, {
    scalars,
    pointers: [...pointers, out.subarray(outOffset)],
  });
  return plan.mode;
}

/** Every index of a shape, last dimension fastest. */
const indicesOf = (shape: readonly number[]): number[][] =>
  shape.reduce<number[][]>(
    (all, extent) => all.flatMap((i) => Array.from({ length: extent }, (_, j) => [...i, j])),
    [[]],
  );

const place = (index: readonly number[], strides: readonly number[]): number =>
  index.reduce((sum, i, axis) => sum + i * (strides[axis] as number), 0);

const room = (shape: readonly number[], strides: readonly number[]): number =>
  place(
    shape.map((n) => n - 1),
    strides.map(Math.abs),
  ) + 1;

const CASES: readonly (readonly [
  ...[mode: string, expr: Expr, shape: number[]],
  ...[xStrides: number[], yStrides: number[], outStrides: number[]],
])[] = [
  ['linear', add(mul(x, scale), y), [1000], [1], [1], [1]],
  ['linear', sub(mul(x, y), scale), [6, 7], [7, 1], [0, 0], [7, 1]],
  ['strided', select(lt(row, column), 0, add(x, y)), [20, 30], [30, 1], [1, 20], [31, 1]],
  ['strided', max(x, sub(row, mul(scale, column))), [40, 3], [1, 40], [0, 1], [3, 1]],
  ['strided', add(x, mul(row, y)), [3, 5, 7], [70, 14, 2], [0, 7, 0], [35, 7, 1]],
];

describe('maps', () => {
  test.each(
    CASES.map(
      (each) => [`${each[0]}: ${print(each[1])} over ${JSON.stringify(each[2])}`, each] as const,
    ),
  )('%s', (_, [mode, expr, shape, xStrides, yStrides, outStrides]) => {
    const a = new Float32Array(room(shape, xStrides)).map((_, i) => (i * 7) % 13);
    const b = new Int32Array(room(shape, yStrides)).map((_, i) => ((i * 5) % 11) - 5);
    const out = new Float64Array(room(shape, outStrides));
    const parameters = { scale: 1.5 };
    const problem: OneResult = {
      expr,
      shape,
      parameters,
      indices: { row: shape.length - 2, column: shape.length - 1 },
      inputs: [
        { name: 'x', dtype: 'float32', strides: xStrides },
        { name: 'y', dtype: 'int32', strides: yStrides },
      ],
      out: { dtype: 'float64', strides: outStrides },
    };
    const wanted = new Float64Array(out.length);
    for (const index of indicesOf(shape)) {
      const [i = 0, j = 0] = index.slice(-2);
      wanted[place(index, outStrides)] = evaluate(expr, {
        ...parameters,
        row: i,
        column: j,
        x: a[place(index, xStrides)] ?? NaN,
        y: b[place(index, yStrides)] ?? NaN,
      });
    }
    const indices = shape.length < 2 ? {} : problem.indices;
    expect(run({ ...problem, indices: indices ?? {} }, { x: a, y: b }, out)).toBe(mode);
    expect(out).toEqual(wanted);
  });

  test('over every way to align packs, in place', () => {
    for (const first of [0, 1, 4]) {
      const memory = new Float32Array(1100).map((_, i) => i % 50);
      const data = memory.subarray(first, first + 1001);
      const wanted = data.map((value) => value * value - 3);
      const layout = { dtype: 'float32', strides: [1] } as const;
      const problem = {
        expr: sub(mul(x, x), 3),
        shape: [1001],
        inputs: [{ name: 'x', ...layout }],
      };
      run({ ...problem, out: layout }, { x: data }, data);
      expect(data).toEqual(wanted);
      expect(memory[first + 1001]).toBe((first + 1001) % 50);
    }
  });

  test('backwards, with positions of the right elements', () => {
    const out = new Float32Array(35);
    const { plan, scalars, outOffset } = planOne(
      {
        expr: add(mul(row, 10), column),
        shape: [5, 7],
        inputs: [],
        indices: { row: 0, column: 1 },
        out: { dtype: 'float32', strides: [-7, 1] },
      },
      H200,
    );
    // element [0, 0] is the start of the last row in memory
    expect(outOffset).toBe(-28);
    runCudaKernel(emitMap(plan) as CudaKernel, { scalars, pointers: [out] });
    expect([...out.subarray(0, 7)]).toEqual([40, 41, 42, 43, 44, 45, 46]);
    expect([...out.subarray(28)]).toEqual([0, 1, 2, 3, 4, 5, 6]);
  });

  test('half precision in and out, with a power of launch numbers', () => {
    const half = Uint16Array.from([0x3c00, 0x4000, 0x4200, 0x4400]); // 1 2 3 4
    const out = new Uint16Array(4);
    run(
      {
        expr: pow(x, scale),
        shape: [4],
        parameters: { scale: 2 },
        inputs: [{ name: 'x', dtype: 'float16', strides: [1] }],
        out: { dtype: 'bfloat16', strides: [1] },
      },
      { x: half },
      out,
    );
    expect([...out]).toEqual([0x3f80, 0x4080, 0x4110, 0x4180]); // 1 4 9 16
  });
});
