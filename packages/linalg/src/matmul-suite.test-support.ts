import { empty, full, tensor, type Device, type Tensor } from '@mercer/tensor';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EPSILON, type LinalgDType } from './checks.js';
import { matmul, type MatmulOptions } from './matmul.js';
import type { ProductPrecision } from './precision.js';
import {
  DTYPES,
  flip,
  random,
  randomMatrix,
  rounded,
  toDense,
  type Dense,
} from './matrices.test-support.js';

/** How the elements of an operand of a test lie. */
interface Form {
  readonly batch: readonly number[];
  readonly rows: number;
  readonly columns: number;
  /** Columns one after another instead of rows. */
  readonly columnMajor: boolean;
  /** Elements between the end of a row (or column) and the next. */
  readonly gap: number;
  /** Every other element of a row, backwards: no axis is contiguous. */
  readonly scattered: boolean;
  /** The batch axes in the opposite order in memory. */
  readonly turned: boolean;
}

/** A tensor of random numbers in (-1, 1) that lies like this. */
async function formed<D extends LinalgDType>(
  device: Device,
  dtype: D,
  form: Form,
  seed: number,
): Promise<Tensor<D>> {
  const { batch, rows, columns, columnMajor, gap, scattered, turned } = form;
  const axes = turned ? [...batch].reverse() : batch;
  const [outer, inner] = columnMajor ? [columns, rows] : [rows, columns];
  const length = scattered ? 2 * inner : inner;
  const shape = [...axes, outer, length + gap];
  const next = random(seed);
  const size = shape.reduce((product, extent) => product * extent, 1);
  const values = Float64Array.from({ length: size }, () => next());
  const all = await tensor(values, { shape, dtype, device });
  const whole = axes.map(() => null);
  const part = scattered
    ? all.slice(...whole, null, [2 * inner - 1, null, -2])
    : all.slice(...whole, null, [0, inner]);
  const order = axes.map((_, axis) => (turned ? axes.length - 1 - axis : axis));
  const ordered = part.permute([...order, axes.length, axes.length + 1]);
  return columnMajor ? ordered.transpose() : ordered;
}

/** The matrices of a broadcast operand. */
const matricesOf = (x: Tensor, batch: readonly number[]): Promise<Dense[]> =>
  toDense(x.broadcastTo([...batch, ...x.shape.slice(-2)]));

/** The product in float64, and the sum of magnitudes that its error is measured by. */
function reference(a: Dense, b: Dense, i: number, j: number): { sum: number; magnitude: number } {
  let [sum, magnitude] = [0, 0];
  for (let l = 0; l < a.columns; l++) {
    const term = (a.data[i * a.columns + l] ?? NaN) * (b.data[l * b.columns + j] ?? NaN);
    sum += term;
    magnitude += Math.abs(term);
  }
  return { sum, magnitude };
}

const extent = fc.integer({ min: 1, max: 6 });
const flag = fc.boolean();
/** The fake library of the tests has no algorithm for 13 steps, nor for halves of so many. */
const steps = fc.integer({ min: 1, max: 40 }).filter((k) => k !== 13 && Math.abs(k - 26) > 1);
const layout = (scatters: boolean, turns: boolean) =>
  fc.record({
    columnMajor: flag,
    gap: fc.constantFrom(0, 0, 3),
    scattered: scatters ? flag : fc.constant(false),
    turned: turns ? flag : fc.constant(false),
    single: fc.array(flag, { minLength: 3, maxLength: 3 }),
  });

/** The published bounds, relative to |alpha| |a| |b| + |beta out|. */
const BOUNDS: { readonly [P in ProductPrecision]: (k: number, epsilon: number) => number } = {
  float32: (k, epsilon) => (k + 2) * epsilon,
  tf32: (k) => 2 ** -9 + (2 * k + 16) * 2 ** -24,
  tf32x3: (k) => (3 * Math.min(k, 256) + 3 * Math.ceil(k / 256) + 16) * 2 ** -24,
};

/** What a suite of products is about. */
interface SuiteOptions {
  /** Whether operands are drawn that a GPU must copy first, which takes a kernel. */
  readonly scatters: boolean;
  readonly precision?: ProductPrecision;
  /** Random products; default 150. */
  readonly runs?: number;
  /** Where and how else than where the matrices are. */
  readonly place?: () => Pick<MatmulOptions<LinalgDType>, 'device' | 'maxBytes'>;
}

/** Products in one precision; without one, the default for both dtypes. */
export function matmulSuite(
  where: string,
  on: () => Device,
  { scatters, precision, place = () => ({}), runs = 150 }: SuiteOptions,
): void {
  const bound = BOUNDS[precision ?? 'float32'];
  const drawn = layout(scatters, scatters || precision !== 'tf32x3');
  const dtypes = precision === undefined ? DTYPES : (['float32'] as const);
  const asked = precision === undefined ? {} : { precision };
  const plain = { batch: [], columnMajor: false, gap: 0, scattered: false, turned: false };

  describe(`products${precision === undefined ? '' : ` in ${precision}`}, ${where}`, () => {
    it.each(dtypes)('of %s equal the loop in any layout, batch and scaling', async (dtype) => {
      const device = on();
      let checked = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.tuple(extent, extent, steps),
          fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 3 }),
          fc.tuple(drawn, drawn, drawn),
          fc.record({ transposeA: flag, transposeB: flag }),
          fc.constantFrom([1, 0], [2, 0], [-0.5, 1], [1, -2], [0, 1], [0, 3]),
          async ([m, n, k], batch, [formA, formB, formC], turns, [alpha, beta]) => {
            const own = ({ single }: { single: readonly boolean[] }): number[] =>
              batch.map((count, axis) => (single[axis] === true ? 1 : count));
            const full = batch.map((_, axis) =>
              Math.max(own(formA)[axis] ?? 1, own(formB)[axis] ?? 1),
            );
            const [rowsA, columnsA] = turns.transposeA ? [k, m] : [m, k];
            const [rowsB, columnsB] = turns.transposeB ? [n, k] : [k, n];
            const shapeA = { batch: own(formA), rows: rowsA, columns: columnsA };
            const shapeB = { batch: own(formB), rows: rowsB, columns: columnsB };
            const a = await formed(device, dtype, { ...formA, ...shapeA }, 1);
            const b = await formed(device, dtype, { ...formB, ...shapeB }, 2);
            const out = await formed(
              device,
              dtype,
              { ...formC, batch: full, rows: m, columns: n },
              3,
            );
            const before = await matricesOf(out, full);
            expect(await matmul(a, b, { ...place(), ...asked, ...turns, alpha, beta, out })).toBe(
              out,
            );
            const [as, bs] = [
              await matricesOf(turns.transposeA ? a.transpose() : a, full),
              await matricesOf(turns.transposeB ? b.transpose() : b, full),
            ];
            const found = await matricesOf(out, full);
            for (const [z, product] of found.entries()) {
              product.data.forEach((actual, at) => {
                const [i, j] = [Math.floor(at / n), at % n];
                const { sum, magnitude } = reference(as[z]!, bs[z]!, i, j);
                const old = before[z]?.data[at] ?? NaN;
                const scale = Math.abs(alpha * magnitude) + Math.abs(beta * old);
                const error = Math.abs(actual - (alpha * sum + beta * old));
                expect(error).toBeLessThanOrEqual(bound(k, EPSILON[dtype]) * scale);
                checked++;
              });
            }
          },
        ),
        { numRuns: runs },
      );
      expect(checked).toBeGreaterThan(8 * runs);
    });

    it.each(dtypes)('of %s larger than a tile are right', async (dtype) => {
      const [m, n, k] = [130, 67, 300];
      const a = await formed(on(), dtype, { ...plain, rows: m, columns: k }, 4);
      const b = await formed(on(), dtype, { ...plain, rows: n, columns: k }, 5);
      const [left, right] = [(await toDense(a))[0]!, flip((await toDense(b))[0]!)];
      const product = (
        await toDense(await matmul(a, b, { ...place(), ...asked, transposeB: true }))
      )[0]!;
      let worst = 0;
      product.data.forEach((actual, at) => {
        const { sum, magnitude } = reference(left, right, Math.floor(at / n), at % n);
        worst = Math.max(worst, Math.abs(actual - sum) / magnitude);
      });
      expect(worst).toBeLessThan(bound(k, EPSILON[dtype]));
    });

    it('over nothing are 0, or what beta makes of out', async () => {
      const device = on();
      const [a, b] = [empty([2, 0], { device }), empty([0, 3], { device })];
      const zeros = [
        [0, 0, 0],
        [0, 0, 0],
      ];
      expect(await (await matmul(a, b, { ...place(), ...asked })).toNested()).toEqual(zeros);
      const out = await full([2, 3], NaN, { device });
      expect(await (await matmul(a, b, { ...place(), ...asked, out })).toNested()).toEqual(zeros);
      await out.fill(3);
      expect(await (await matmul(a, b, { ...place(), ...asked, out, beta: 1 })).toNested()).toEqual(
        [
          [3, 3, 3],
          [3, 3, 3],
        ],
      );
      expect(
        await (await matmul(a, b, { ...place(), ...asked, out, beta: -2 })).toNested(),
      ).toEqual([
        [-6, -6, -6],
        [-6, -6, -6],
      ]);
    });

    it('of nothing are empty', async () => {
      const device = on();
      const make = (...shape: number[]): Tensor<'float32'> => empty(shape, { device });
      expect((await matmul(make(0, 3), make(3, 2), { ...place(), ...asked })).shape).toEqual([
        0, 2,
      ]);
      expect((await matmul(make(2, 3), make(3, 0), { ...place(), ...asked })).shape).toEqual([
        2, 0,
      ]);
      const none = await matmul(make(0, 2, 3), make(3, 2), { ...place(), ...asked });
      expect(none.shape).toEqual([0, 2, 2]);
      expect(await none.toNested()).toEqual([]);
    });

    it('do not read out where beta is 0, nor the factors where alpha is 0', async () => {
      const device = on();
      const nan = await full([3, 3], NaN, { device });
      const one = await tensor(rounded(randomMatrix(3, 3, 6), 'float32').data, {
        shape: [3, 3],
        dtype: 'float32',
        device,
      });
      await matmul(one, one, { ...place(), ...asked, out: nan });
      expect((await nan.toTypedArray()).every(Number.isFinite)).toBe(true);
      const bad = await full([3, 3], NaN, { device });
      const kept = await matmul(bad, one, { ...place(), ...asked, alpha: 0, beta: 2, out: nan });
      expect((await kept.toTypedArray()).every(Number.isFinite)).toBe(true);
    });

    it('carry NaN and infinity', async () => {
      const device = on();
      const a = await tensor([NaN, 1, Infinity, 1, -0.1, 2 ** 127, 2, 0], {
        shape: [4, 2],
        device,
      });
      const b = await tensor([1, 2.3, 3.4, -4], { shape: [2, 2], device });
      const [nan, infinite, large, finite] = await (
        await matmul(a, b, { ...place(), ...asked })
      ).toNested<number[][]>();
      expect(nan).toEqual([NaN, NaN]);
      expect(infinite).toEqual([Infinity, Infinity]);
      expect(large).toEqual([Infinity, -Infinity]);
      expect(finite?.[0]).toBe(2);
      expect(finite?.[1]).toBeCloseTo(4.6, precision === 'tf32' ? 1 : 6);
    });
  });
}

const NARROW = ['float16', 'bfloat16'] as const;

/** Products of factors of 16 bits. */
export function halvesSuite(where: string, on: () => Device): void {
  describe(`products of 16 bits, ${where}`, () => {
    const factor = async (
      dtype: 'float16' | 'bfloat16' | 'float32',
      shape: readonly number[],
      seed: number,
    ): Promise<Tensor> => {
      const next = random(seed);
      const size = shape.reduce((product, one) => product * one, 1);
      // a sum in 16 bits would be wrong in its third digit
      const values = Float32Array.from({ length: size }, () => 1 + 0.25 * next());
      const wide = await tensor(values, { shape, device: on() });
      return wide.cast(dtype);
    };

    /** @param terms of each sum of magnitudes, in units of 2^-24 */
    async function expectProduct(
      found: Tensor,
      [a, b]: readonly [Tensor, Tensor],
      terms: (k: number) => number,
    ): Promise<void> {
      const batch = found.shape.slice(0, -2);
      expect([found.dtype, found.shape.slice(-2)]).toEqual(['float32', [a.shape.at(-2), b.shape.at(-1)]]); // prettier-ignore
      const [lefts, rights] = [await matricesOf(a, batch), await matricesOf(b, batch)];
      for (const [z, product] of (await matricesOf(found, batch)).entries()) {
        product.data.forEach((actual, at) => {
          const [i, j] = [Math.floor(at / product.columns), at % product.columns];
          const { sum, magnitude } = reference(lefts[z]!, rights[z]!, i, j);
          const bound = terms(lefts[z]!.columns) * 2 ** -24 * magnitude;
          expect(Math.abs(actual - sum)).toBeLessThanOrEqual(bound);
        });
      }
    }

    const both = (k: number): number => 2 * k + 16;
    const float32 = (k: number): number => 2 * (k + 2);
    const call = matmul as unknown as (
      a: Tensor,
      b: Tensor,
      options?: MatmulOptions<'float32'>,
    ) => PromiseLike<Tensor>;

    it.each(NARROW)('of %s are summed in float32', async (dtype) => {
      const [a, b] = [await factor(dtype, [2, 33, 300], 1), await factor(dtype, [300, 20], 2)];
      await expectProduct(await call(a, b), [a, b], both);
      await expectProduct(await call(a, b, { precision: 'float32' }), [a, b], float32);
      const turned = await call(b, a.slice(0), { transposeA: true, transposeB: true });
      await expectProduct(turned, [b.transpose(), a.slice(0).transpose()], both);
      const every = a.slice(null, null, [null, null, 3]);
      await expectProduct(await call(every, b.slice([0, 100])), [every, b.slice([0, 100])], both);
    });

    it('stand beside float32 and beside each other', async () => {
      const half = await factor('float16', [7, 40], 3);
      const brief = await factor('bfloat16', [40, 5], 4);
      const single = await factor('float32', [40, 5], 5);
      await expectProduct(await call(half, brief), [half, brief], both);
      await expectProduct(await call(half, single), [half, single], float32);
      await expectProduct(
        await call(single, half, { transposeA: true, transposeB: true }),
        [single.transpose(), half.transpose()],
        float32,
      );
    });

    it.each(NARROW)('of %s are scaled and added to out, prepared and not', async (dtype) => {
      const [a, b] = [await factor(dtype, [3, 4], 6), await factor(dtype, [4, 2], 7)];
      const plain = await toDense(await call(a, b));
      const out = await full([3, 2], 8, { device: on() });
      await call(a, b, { alpha: -2, beta: 0.5, out });
      const expected = plain[0]!.data.map((one) => 4 - 2 * one);
      expect((await toDense(out))[0]!.data).toEqual(expected);
      const prepared = await matmul.prepare(a as Tensor<'float16'>, b as Tensor<'float16'>);
      expect(await toDense(prepared(a as Tensor<'float16'>, b as Tensor<'float16'>))).toEqual(
        plain,
      );
    });

    it('are refused beside float64, and into another dtype', async () => {
      const half = await factor('float16', [2, 2], 8);
      const double = await tensor([[1, 2], [3, 4]], { dtype: 'float64', device: on() }); // prettier-ignore
      await expect(call(half, double)).rejects.toMatchObject({ code: 'DTYPE_MISMATCH' });
      const out = (await half.clone()) as Tensor<never>;
      await expect(call(half, half, { out })).rejects.toMatchObject({ code: 'DTYPE_MISMATCH' });
    });
  });
}
