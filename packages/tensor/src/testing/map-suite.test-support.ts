import {
  abs,
  add,
  div,
  eq,
  evaluate,
  exp,
  gt,
  log,
  lt,
  max,
  min,
  mul,
  neg,
  pow,
  rsqrt,
  select,
  sqrt,
  sub,
  tanh,
  variable,
  type Expr,
} from '@mercer/formula';
import { DTYPES, dtypeBytes, type DType } from '@mercer/kernels';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { empty, full, tensor } from '../create.js';
import type { Device } from '../device.js';
import { map } from '../map.js';
import type { Tensor } from '../tensor.js';
import { castOracle, valueOf16 } from './cast-oracle.test-support.js';
import { CountTable } from './count-table.test-support.js';
import { randomBits } from './random.test-support.js';

type RawArray = ArrayLike<number | bigint>;
type Bindings = Record<string, number>;

const [x, y, scale, row, column] = [
  variable('x'),
  variable('y'),
  variable('scale'),
  variable('row'),
  variable('column'),
];

/** Formulas that give small whole numbers for small whole numbers, so that every dtype computes them exactly. */
const WHOLE: Readonly<Record<string, Expr>> = {
  polynomial: add(mul(x, y), scale),
  choice: select(lt(x, y), sub(x, scale), neg(y)),
  extremes: sub(max(x, y), mul(scale, min(y, 2))),
  positions: add(x, sub(mul(2, row), column)),
  triangle: select(lt(row, column), y, x),
  comparison: gt(x, y),
};

/** How an operand lies in memory. */
const LAYOUTS = [
  'linear',
  'unaligned',
  'strided',
  'turned',
  'reversed',
  'one row',
  'one column',
  'one element',
] as const;
type LayoutKind = (typeof LAYOUTS)[number];

function viewOf(
  dtype: DType,
  shape: readonly number[],
  layout: LayoutKind,
  device: Device,
): Tensor {
  const make = (extents: readonly number[]): Tensor => empty(extents, { dtype, device });
  const [rows = 1, columns = 1] = shape.slice(-2);
  const lead = shape.slice(0, -2);
  switch (layout) {
    case 'linear':
      return make(shape);
    case 'unaligned':
      return make([shape.reduce((a, b) => a * b, 1) + 1])
        .slice([1])
        .reshape(shape);
    case 'strided':
      return make([...shape, 2]).slice(...shape.map(() => null), 1);
    case 'turned':
      return make([...lead, columns, rows]).transpose();
    case 'reversed':
      return make(shape).slice(...shape.map((): [null, null, -1] => [null, null, -1]));
    case 'one row':
      return make([1, columns]);
    case 'one column':
      return make([...lead, rows, 1]);
    case 'one element':
      return make([]);
  }
}

/** A view with random small whole numbers, and the number of each element of the whole shape. */
async function randomOperand(
  dtype: DType,
  shape: readonly number[],
  layout: LayoutKind,
  device: Device,
  bits: () => number,
): Promise<{ view: Tensor; values: number[] }> {
  const view = viewOf(dtype, shape, layout, device);
  const count = view.size;
  const numbers = Array.from({ length: count }, () =>
    dtype === 'bool' ? bits() % 2 : dtype === 'uint8' ? bits() % 5 : (bits() % 9) - 4,
  );
  const source = await tensor(Float64Array.from(numbers), { shape: view.shape, device });
  await view.copyFrom(source);
  const whole = view.broadcastTo(shape);
  const raw = (await whole.toTypedArray()) as RawArray;
  for (const t of [source, whole]) t.dispose();
  return { view, values: Array.from(raw, Number) };
}

/** Where element number `at` of a row-major shape lies on its last two axes. */
function place(at: number, shape: readonly number[]): Bindings {
  const [rows = 1, columns = 1] = shape.slice(-2);
  return { row: Math.floor(at / columns) % rows, column: at % columns };
}

/** The numbers that stored elements stand for. */
function numbersOf(raw: RawArray, dtype: DType): number[] {
  return Array.from(raw, (value) =>
    dtype === 'float16' || dtype === 'bfloat16' ? valueOf16(Number(value), dtype) : Number(value),
  );
}

async function read(view: Tensor): Promise<RawArray> {
  return await view.toTypedArray({ raw: true });
}

/** Smooth formulas with the units in the last place that each may lose, beside those of its arguments. */
const SMOOTH: readonly (readonly [name: string, expr: Expr, units: number])[] = [
  ['exp', exp(x), 12],
  ['log', log(abs(x)), 12],
  ['tanh', tanh(x), 12],
  ['quotient', div(x, add(abs(y), 1)), 6],
  ['roots', mul(sqrt(abs(x)), rsqrt(add(abs(y), 1))), 10],
  ['power', pow(add(abs(x), 0.5), 1.3), 16],
  ['power of parameters', mul(pow(add(abs(x), 0.5), scale), exp(neg(scale))), 40],
  ['polynomial', add(mul(mul(x, x), scale), mul(y, 0.1)), 6],
];

/** Formulas over tensors of one device against the float64 evaluator. */
export function mapSuite(name: string, getDevice: () => Device, { whole }: SuiteOptions): void {
  describe(`maps on ${name}`, () => {
    let device: Device;
    beforeAll(() => {
      device = getDevice();
    });

    it('gives exact whole numbers for every dtype and layout', { timeout: 600_000 }, async () => {
      const counts = new CountTable()
        .expect('formula', Object.keys(WHOLE))
        .expect('input', DTYPES)
        .expect('output', DTYPES)
        .expect('layout of x', LAYOUTS)
        .expect('layout of y', LAYOUTS)
        .expect('layout of out', ['none', ...LAYOUTS.slice(0, 5)])
        .expect('rank', ['2', '3']);
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...Object.keys(WHOLE)),
          fc.tuple(fc.constantFrom(...DTYPES), fc.constantFrom(...DTYPES)),
          fc.constantFrom(...DTYPES),
          fc.tuple(fc.constantFrom(...LAYOUTS), fc.constantFrom(...LAYOUTS)),
          fc.constantFrom('none', ...LAYOUTS.slice(0, 5)),
          fc.constantFrom([7, 9], [2, 5, 3], [33, 40], [3, 300], [2, 1, 1], [1, 700]),
          fc.integer(),
          async (formula, inputs, to, layouts, outLayout, shape, seed) => {
            const expr = WHOLE[formula] as Expr;
            const bits = randomBits(seed);
            const [a, b] = [
              await randomOperand(inputs[0], shape, layouts[0], device, bits),
              await randomOperand(inputs[1], shape, layouts[1], device, bits),
            ];
            const parameters = { scale: 3 };
            const options = { dtype: to, parameters, indices: { row: -2, column: -1 } };
            // an input that is not read, but gives the shape
            const shaped = full([], 0, { device });
            const extent = (await shaped).broadcastTo(shape);
            const out = outLayout === 'none' ? undefined : viewOf(to, shape, outLayout, device);
            const given = { x: a.view, y: b.view, extent };
            const result = await map(expr, given, { ...options, out });
            if (out !== undefined) expect(result).toBe(out);
            const found = await read(result);
            const expected = a.values.map((value, at) =>
              castOracle(
                evaluate(expr, {
                  ...parameters,
                  ...place(at, shape),
                  x: value,
                  y: b.values[at] ?? NaN,
                }),
                to,
              ),
            );
            expect(Array.from(found, String)).toEqual(expected.map(String));
            counts.add('formula', formula);
            for (const dtype of inputs) counts.add('input', dtype);
            counts.add('output', to);
            counts.add('layout of x', layouts[0]);
            counts.add('layout of y', layouts[1]);
            counts.add('layout of out', outLayout);
            counts.add('rank', String(shape.length));
            for (const t of [a.view, b.view, await shaped, extent, result]) t.dispose();
          },
        ),
        { numRuns: whole ? 400 : 60, seed: 11 },
      );
      expect(counts.report(`maps on ${name}`)).toEqual([]);
    });

    it.each(SMOOTH)('%s is right to the last digits', async (_, expr, units) => {
      const bits = randomBits(5);
      const draw = (): number => (bits() / 2 ** 32) * 8 - 4;
      const parameters = { scale: 1.75 };
      const length = 1009;
      for (const [stored, unit] of [
        ['float64', 2 ** -53],
        ['float32', 2 ** -24],
        ['float16', 2 ** -24],
      ] as const) {
        const make = (): Promise<Tensor> =>
          tensor(Float64Array.from({ length }, draw), { dtype: stored, device });
        const given = { x: await make(), y: await make() };
        const result = await map(expr, given, { parameters });
        expect(result.dtype).toBe(stored === 'float64' ? 'float64' : 'float32');
        const [a, b] = [await read(given.x), await read(given.y)].map((raw) =>
          numbersOf(raw, stored),
        );
        const found = numbersOf(await read(result), result.dtype);
        const worst = found.reduce((most, value, i) => {
          const bindings = { ...parameters, x: a?.[i] ?? NaN, y: b?.[i] ?? NaN };
          const expected = evaluate(expr, bindings);
          // a sum that cancels is as exact as its terms are
          const size = Math.max(Math.abs(expected), 0.5);
          return Math.max(most, Math.abs(value - expected) / (unit * size));
        }, 0);
        expect(worst).toBeLessThan(units);
        for (const t of [given.x, given.y, result]) t.dispose();
      }
    });

    it('carries NaN, infinity and the sign of 0', async () => {
      const values = [NaN, Infinity, -Infinity, -0, 0, 1];
      const given = await tensor(Float32Array.from(values), { device });
      const results: readonly (readonly [Expr, readonly number[]])[] = [
        [max(x, 0), [NaN, Infinity, 0, 0, 0, 1]],
        [neg(x), [NaN, -Infinity, Infinity, 0, -0, -1]],
        [select(gt(x, 0), x, 7), [7, Infinity, 7, 7, 7, 1]],
        [rsqrt(abs(x)), [NaN, 0, 0, 0, 0, 1]],
      ];
      for (const [expr, expected] of results) {
        const result = await map(expr, { x: given });
        expect(Array.from(await result.toTypedArray(), Number)).toEqual(expected);
        result.dispose();
      }
      given.dispose();
    });

    it('writes over an input of the same layout', async () => {
      for (const layout of LAYOUTS.slice(0, 5)) {
        for (const shape of [
          [5, 7],
          [20, 1000],
        ]) {
          const bits = randomBits(9);
          const { view, values } = await randomOperand('float32', shape, layout, device, bits);
          const other = await randomOperand('int32', shape, 'one row', device, bits);
          const expr = sub(mul(x, 2), y);
          const result = await map(expr, { x: view, y: other.view }, { out: view });
          expect(result).toBe(view);
          expect(numbersOf(await read(view), 'float32')).toEqual(
            values.map((value, i) => value * 2 - (other.values[i] ?? NaN)),
          );
          for (const t of [view, other.view]) t.dispose();
        }
      }
    });

    it('makes matrices from positions alone, in any layout of out', async () => {
      for (const layout of LAYOUTS.slice(0, 5)) {
        const out = viewOf('float32', [3, 40, 50], layout, device);
        const indices = { layer: 0, row: -2, column: -1 };
        const expr = select(eq(row, column), add(variable('layer'), 1), 0);
        await map(expr, {}, { out, indices });
        const found = numbersOf(await read(out), 'float32');
        const expected = found.map((_, at) => {
          const { row: i, column: j } = place(at, out.shape);
          return i === j ? Math.floor(at / 2000) + 1 : 0;
        });
        expect(found).toEqual(expected);
        out.dispose();
      }
    });

    it('counts positions beyond 2^24', { timeout: 60_000 }, async () => {
      const length = 2 ** 24 + 4;
      const input = await full([length], 1, { dtype: 'bool', device });
      const wanted = 2 ** 24 + 1;
      const expr = select(eq(variable('i'), wanted), x, 0);
      const result = await map(expr, { x: input }, { indices: { i: 0 }, dtype: 'uint8' });
      const found = await result.toTypedArray();
      expect(found.reduce((sum, value) => sum + value, 0)).toBe(1);
      expect(found[wanted]).toBe(1);
      for (const t of [input, result]) t.dispose();
    });

    it('takes eight dimensions that cannot be merged, and eight inputs', async () => {
      const shape = [2, 3, 2, 3, 2, 3, 2, 3];
      const all = await full(
        shape.map((n) => n + 1),
        3,
        { dtype: 'int32', device },
      );
      const view = all.slice(...shape.map((n): [number, number] => [1, 1 + n]));
      const inputs = Object.fromEntries(
        Array.from({ length: 8 }, (_, i) => [`v${i}`, view] as const),
      );
      const sum = Object.keys(inputs)
        .map(variable)
        .reduce((a, b) => add(a, b));
      const result = await map(sum, inputs);
      expect(new Set(await result.toTypedArray())).toEqual(new Set([24]));
      for (const t of [all, view, result]) t.dispose();
    });

    it('takes forty inputs', async () => {
      const all = Array.from({ length: 40 }, (_, k) => k);
      const inputs = await Promise.all(
        all.map((k) => tensor([k, 2 * k, k - 7, 1, k % 3], { device })),
      );
      const named = Object.fromEntries(inputs.map((one, k) => [`v${k}`, one] as const));
      const sum = all.map((k) => mul(k, variable(`v${k}`))).reduce((a, b) => add(a, b));
      const wanted = [0, 1, 2, 3, 4].map((at) =>
        all.reduce((total, k) => total + k * ([k, 2 * k, k - 7, 1, k % 3][at] as number), 0),
      );
      expect(await (await map(sum, named)).toNested()).toEqual(wanted);
    });

    it('follows its stream, and takes another number without another kernel', async () => {
      const stream = device.createStream();
      const input = await tensor(new Float32Array(1000).fill(2), { device });
      const sums: number[] = [];
      for (const value of [1, 2.5, -3]) {
        const result = await map(
          mul(scale, x),
          { x: input },
          { stream, parameters: { scale: value } },
        );
        sums.push((await result.toTypedArray()).reduce((a, b) => a + b, 0));
        result.dispose();
      }
      expect(sums).toEqual([2000, 5000, -6000]);
      input.dispose();
      stream.dispose();
    });

    it('does nothing for tensors without elements', async () => {
      const none = empty([0, 3], { device });
      const one = await full([1, 3], 1, { device });
      const result = await map(add(x, y), { x: none, y: one });
      expect([result.shape, await result.toTypedArray()]).toEqual([[0, 3], new Float32Array(0)]);
      for (const t of [none, one, result]) t.dispose();
    });

    it('takes tensors of rank 0', async () => {
      const a = await tensor(3, { device });
      const result = await map(mul(x, x), { x: a });
      expect([result.shape, await result.toNested()]).toEqual([[], 9]);
      const yes = await map(gt(x, 2), { x: a });
      expect([yes.dtype, await yes.toNested()]).toEqual(['bool', true]);
      expect(dtypeBytes(yes.dtype)).toBe(1);
      for (const t of [a, result, yes]) t.dispose();
    });
  });
}

interface SuiteOptions {
  /** More random cases. */
  readonly whole: boolean;
}
