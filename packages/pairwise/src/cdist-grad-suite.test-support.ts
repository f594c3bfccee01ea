import fc from 'fast-check';
import type { PairwiseDType } from '@mercer/kernels';
import {
  empty,
  tensor,
  zeros,
  type Device,
  type MercerErrorCode,
  type Tensor,
} from '@mercer/tensor';
import { assert, describe, expect, it } from 'vitest';
import { normalValues } from './cdist-reference.test-support.js';
import {
  referenceElement,
  type ReferenceBatch,
  type ReferenceOperands,
} from './cdist-grad-reference.test-support.js';
import { cdistGrad, planOf } from './index.js';
import { expectCode, UNIT } from './matrices.test-support.js';

type Name = keyof ReferenceOperands;
const NAMES: readonly Name[] = ['a', 'b', 'c', 'd'];

/** Sizes of a case; `own` names the operands that have a batch axis of extent `batch`. */
interface Sizes {
  readonly m: number;
  readonly n: number;
  readonly o: number;
  readonly k: number;
  readonly batch?: number;
  readonly own?: readonly Name[];
}

function operandsOf({ m, n, o, k, batch = 1, own = [] }: Sizes, seed: number): ReferenceOperands {
  const make = (name: Name, rows: number, columns: number): ReferenceBatch => {
    const count = own.includes(name) ? batch : 1;
    const values = normalValues(count * rows * columns, 10 * seed + NAMES.indexOf(name));
    return { batch: count, rows, columns, values };
  };
  return { a: make('a', k, m), b: make('b', n, k), c: make('c', o, k), d: make('d', n, m) };
}

/** Uploads an operand with every line padded, as a matrix where it has no batch. */
async function upload(
  { batch, rows, columns, values }: ReferenceBatch,
  dtype: PairwiseDType,
  device: Device,
  { pad = 0, ranked = false }: { readonly pad?: number; readonly ranked?: boolean } = {},
): Promise<Tensor<PairwiseDType>> {
  const padded = new Float64Array(batch * rows * (columns + pad)).fill(NaN);
  for (let i = 0; i < batch * rows; i++) {
    padded.set(values.subarray(i * columns, (i + 1) * columns), i * (columns + pad));
  }
  const shape = [batch, rows, columns + pad];
  const whole = await tensor(padded, { shape, dtype, device });
  const view = whole.slice(null, null, [0, columns]);
  return batch === 1 && !ranked ? view.slice(0) : view;
}

type Uploaded = readonly [
  a: Tensor<PairwiseDType>,
  b: Tensor<PairwiseDType>,
  c: Tensor<PairwiseDType>,
  d: Tensor<PairwiseDType>,
];

async function uploadAll(
  operands: ReferenceOperands,
  dtype: PairwiseDType,
  device: Device,
  options: { readonly pad?: number; readonly ranked?: boolean } = {},
): Promise<Uploaded> {
  const [a, b, c, d] = await Promise.all(
    NAMES.map((name) => upload(operands[name], dtype, device, options)),
  );
  return [a, b, c, d] as unknown as Uploaded;
}

/** Compares a result (..., O, N, M) with the oracle, every `step`th element; returns the largest error. */
async function expectSums(
  result: Tensor,
  operands: ReferenceOperands,
  norms: number | readonly number[],
  step = 1,
): Promise<number> {
  const dtype = result.dtype === 'float64' ? 'float64' : 'float32';
  const actual = (await result.toTypedArray()) as Float32Array | Float64Array;
  const [o, n, m] = result.shape.slice(-3) as [number, number, number];
  // The oracle itself is float64: against float64 results its own rounding counts as well.
  expect(actual.length).toBe(result.shape.reduce((count, extent) => count * extent, 1));
  const u = UNIT[dtype] * (dtype === 'float64' ? 2 : 1);
  let largest = 0;
  for (let i = 0; i < actual.length; i += step) {
    const rest = Math.floor(i / m);
    const place = [Math.floor(rest / n / o), Math.floor(rest / n) % o, rest % n, i % m] as const;
    const p = typeof norms === 'number' ? norms : (norms[place[0]] ?? NaN);
    const { value, bound } = referenceElement(operands, place, p);
    const error = Math.abs((actual[i] ?? NaN) - value);
    assert(
      error <= bound * u,
      `p=${String(p)} [${place.join(', ')}]: ${String(actual[i])}, expected ${String(value)} within ${String(bound * u)}`,
    );
    largest = Math.max(largest, error);
  }
  return largest;
}

const NORMS = [0.5, 1, 1.3, 1.5, 2, 3, 7.5];

/** What `cdistGrad` promises, for one device. Every device runs the same suite. */
export function describeCdistGrad(
  device: () => Device,
  { points }: { readonly points: number },
): void {
  it('is within 1e-4 of an einsum in float64 at p = 2', async () => {
    const sizes = { m: 1000, n: points, o: 16, k: 64, batch: 4, own: NAMES };
    const operands = operandsOf(sizes, 1);
    const inputs = await uploadAll(operands, 'float32', device());
    const result = await cdistGrad(...inputs, { p: 2 });
    expect(result.shape).toEqual([4, 16, points, 1000]);
    expect(planOf(result)?.summary).toMatch(/^cdist-grad/);
    expect(await expectSums(result, operands, 2, 127)).toBeLessThan(1e-4);
  });

  describe.each(['float32', 'float64'] as const)('%s', (dtype) => {
    it.each(NORMS)('p = %d holds the published bound on every small shape', async (p) => {
      for (const [m, n, o, k] of [
        [1, 1, 1, 1],
        [5, 1, 2, 9],
        [37, 6, 18, 33],
        [70, 5, 17, 64],
      ] as const) {
        const operands = operandsOf({ m, n, o, k }, m + k);
        const result = await cdistGrad(...(await uploadAll(operands, dtype, device())), { p });
        expect(result.shape).toEqual([o, n, m]);
        await expectSums(result, operands, p);
      }
    });

    it('takes p from device memory: one value, or one per batch entry', async () => {
      const sizes = { m: 9, n: 4, o: 3, k: 21, batch: 4, own: ['a', 'd'] as const };
      const operands = operandsOf(sizes, 5);
      const inputs = await uploadAll(operands, dtype, device());
      const norms = [0.5, 1, 2, 3.75];
      const many = await tensor(norms, { dtype, device: device() });
      await expectSums(await cdistGrad(...inputs, { p: many }), operands, norms);
      const one = await tensor([1.25], { dtype, device: device() });
      await expectSums(await cdistGrad(...inputs, { p: one }), operands, 1.25);
      // p alone may bring the batch
      const single = operandsOf({ m: 9, n: 4, o: 3, k: 21 }, 6);
      const spread = await cdistGrad(...(await uploadAll(single, dtype, device())), { p: many });
      expect(spread.shape).toEqual([4, 3, 4, 9]);
      await expectSums(spread, single, norms);
    });

    it('broadcasts the batch of every operand', async () => {
      for (const shared of NAMES) {
        const own = NAMES.filter((name) => name !== shared);
        const operands = operandsOf({ m: 10, n: 3, o: 2, k: 7, batch: 3, own }, 7);
        for (const ranked of [false, true]) {
          const inputs = await uploadAll(operands, dtype, device(), { ranked });
          const result = await cdistGrad(...inputs, { p: 1.5 });
          expect(result.shape).toEqual([3, 2, 3, 10]);
          await expectSums(result, operands, 1.5);
        }
      }
    });

    it('takes several batch axes, one of them spread over another operand', async () => {
      const operands = operandsOf({ m: 8, n: 3, o: 2, k: 5, batch: 6, own: ['a'] }, 8);
      const [a, b, c, d] = await uploadAll(operands, dtype, device());
      const grid = a.reshape([2, 3, 5, 8]);
      const result = await cdistGrad(grid, b, c, d.reshape([1, 1, 3, 8]), { p: 3 });
      expect(result.shape).toEqual([2, 3, 2, 3, 8]);
      await expectSums(result.reshape([6, 2, 3, 8]), operands, 3);
      const outer = operandsOf({ m: 8, n: 3, o: 2, k: 5, batch: 3, own: ['d'] }, 9);
      const [x, y, z, w] = await uploadAll(outer, dtype, device());
      const spread = await cdistGrad(x, y, z.reshape([1, 1, 2, 5]), w.broadcastTo([2, 3, 3, 8]));
      await expectSums(spread.slice(1), outer, 2);
    });

    it('reads leading strides as they are and copies what is not contiguous', async () => {
      const operands = operandsOf({ m: 13, n: 5, o: 4, k: 11, batch: 2, own: ['a', 'c'] }, 3);
      for (const pad of [1, 3, 4]) {
        const padded = await uploadAll(operands, dtype, device(), { pad });
        await expectSums(await cdistGrad(...padded, { p: 1.3 }), operands, 1.3);
      }
      const [a, b, c, d] = await uploadAll(operands, dtype, device());
      const turned = await a.transpose().clone();
      const flipped = await d.slice([null, null, -1]).clone();
      const result = await cdistGrad(turned.transpose(), b, c, flipped.slice([null, null, -1]), {
        p: 2,
      });
      await expectSums(result, operands, 2);
    });

    it('writes into out with gaps, and nothing between', async () => {
      const operands = operandsOf({ m: 10, n: 3, o: 2, k: 9, batch: 2, own: ['b'] }, 4);
      const inputs = await uploadAll(operands, dtype, device());
      const count = 2 * 3 * 4 * 16;
      const whole = await tensor(new Float64Array(count).fill(-7), {
        ...{ shape: [2, 3, 4, 16], dtype, device: device() },
      });
      const out = whole.slice(null, [0, 2], [1, 4], [2, 12]);
      expect(await cdistGrad(...inputs, { p: 2, out })).toBe(out);
      await expectSums(out, operands, 2);
      const all = [...(await whole.toTypedArray())].map(Number);
      expect(all.filter((value) => value === -7)).toHaveLength(count - 2 * 2 * 3 * 10);
    });

    it('gets exactly nothing from a zero difference', async () => {
      const [m, n, o, k] = [6, 4, 3, 40];
      const points = { batch: 1, rows: n, columns: k, values: new Float64Array(n * k).fill(0.1) };
      const operands = {
        ...operandsOf({ m, n, o, k }, 2),
        b: points,
        d: { ...points, columns: m, values: new Float64Array(n * m).fill(0.1) },
      };
      const inputs = await uploadAll(operands, dtype, device());
      for (const p of [0.25, 0.5, 0.9, ...NORMS]) {
        const memory = await tensor([p], { dtype, device: device() });
        for (const norm of [p, memory]) {
          const sums = await (await cdistGrad(...inputs, { p: norm })).toTypedArray();
          expect([...sums].every((value) => Number(value) === 0)).toBe(true);
        }
      }
    });

    it('keeps nonzero differences, however small, and NaN', async () => {
      const one = (values: number[][]): Promise<Tensor<PairwiseDType>> =>
        tensor(values, { dtype, device: device() });
      const [a, c] = [await one([[1], [1]]), await one([[1, 1]])];
      const tiny = 2 ** -100;
      const sums = await cdistGrad(a, await one([[tiny, 0]]), c, await one([[0]]), { p: 0.5 });
      expect(Number((await sums.toTypedArray())[0])).toBeCloseTo(-(2 ** 50), -36);
      for (const p of NORMS) {
        const broken = await cdistGrad(a, await one([[1, 2]]), c, await one([[NaN]]), { p });
        expect(Number((await broken.toTypedArray())[0])).toBeNaN();
      }
    });

    it('has empty results, and zeros where there is nothing to sum', async () => {
      const make = (shape: number[]): Promise<Tensor<PairwiseDType>> =>
        zeros(shape, { dtype, device: device() });
      for (const [m, n, o] of [
        [0, 2, 3],
        [2, 0, 3],
        [2, 3, 0],
      ] as const) {
        const none = await cdistGrad(
          await make([4, m]),
          await make([n, 4]),
          await make([o, 4]),
          await make([n, m]),
        );
        expect(none.shape).toEqual([o, n, m]);
      }
      for (const p of [0.5, 1, 1.3, 2]) {
        const blank = await cdistGrad(
          await make([0, 3]),
          await make([2, 0]),
          await make([2, 0]),
          await make([2, 3]),
          { p },
        );
        expect([...(await blank.toTypedArray())].map(Number)).toEqual(new Array(12).fill(0));
      }
    });
  });

  it('agrees with float64 on random shapes, batches and strides', async () => {
    const counts: Record<string, number> = {};
    const cases = fc.record({
      ...{ m: fc.integer({ min: 1, max: 40 }), n: fc.integer({ min: 1, max: 6 }) },
      ...{ o: fc.integer({ min: 1, max: 20 }), k: fc.integer({ min: 0, max: 70 }) },
      ...{ batch: fc.integer({ min: 1, max: 3 }), own: fc.subarray([...NAMES]), pad: fc.nat(4) },
      ...{ dtype: fc.constantFrom('float32' as const, 'float64' as const) },
      p: fc.constantFrom(1.3, 2),
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ pad, dtype, p, ...sizes }) => {
        for (const name of [dtype, `p ${String(p)}`, ...sizes.own]) {
          counts[name] = (counts[name] ?? 0) + 1;
        }
        const operands = operandsOf(sizes, 77);
        const inputs = await uploadAll(operands, dtype, device(), { pad });
        await expectSums(await cdistGrad(...inputs, { p }), operands, p);
      }),
      { numRuns: 60, seed: 5 },
    );
    console.log(`random sums: ${JSON.stringify(counts)}`);
    expect(Object.keys(counts)).toHaveLength(2 + 2 + 4);
  });

  it('gives the same bits every time', async () => {
    const inputs = await uploadAll(
      operandsOf({ m: 33, n: 7, o: 16, k: 700 }, 1),
      'float32',
      device(),
    );
    const first = await (await cdistGrad(...inputs, { p: 1.3 })).toTypedArray();
    for (let i = 0; i < 3; i++) {
      expect(await (await cdistGrad(...inputs, { p: 1.3 })).toTypedArray()).toEqual(first);
    }
  });

  it('takes nested arrays', async () => {
    const sums = await cdistGrad([[1], [2]], [[0, 1]], [[1, 10]], [[2]], { device: device() });
    expect(await sums.toNested()).toEqual([[[22]]]);
  });

  describeBadInput(device);
  describePrepare(device);
}

function describeBadInput(device: () => Device): void {
  describe('bad input', () => {
    const make = (shape: number[]): Promise<Tensor<PairwiseDType>> =>
      zeros(shape, { dtype: 'float32', device: device() });
    const inputs = async (): Promise<Uploaded> =>
      [
        ...[await make([5, 4]), await make([3, 5])],
        ...[await make([2, 5]), await make([3, 4])],
      ] as unknown as Uploaded;
    /** What a program without type checks may pass. */
    const unchecked = cdistGrad as unknown as (...args: readonly unknown[]) => Promise<Tensor>;

    it('names the axis that differs, in every operand', async () => {
      const [a, b, c, d] = await inputs();
      const wrong: readonly (readonly [Promise<Tensor>, string])[] = [
        [cdistGrad(a, await make([3, 6]), c, d), 'K = 5'],
        [cdistGrad(a, b, await make([2, 7]), d), 'K = 7'],
        [cdistGrad(a, b, c, await make([3, 9])), 'M = 9'],
        [cdistGrad(a, b, c, await make([8, 4])), 'N = 8'],
      ];
      for (const [promise, text] of wrong) {
        expect(await expectCode(promise, 'SHAPE_MISMATCH')).toContain(text);
      }
    });

    it('refuses rank 1 and batches that do not broadcast', async () => {
      const [a, b, c, d] = await inputs();
      expect(await expectCode(cdistGrad(await make([5]), b, c, d), 'SHAPE_MISMATCH')).toContain(
        'K, M',
      );
      const message = await expectCode(
        cdistGrad(await make([2, 5, 4]), await make([3, 3, 5]), c, d),
        'SHAPE_MISMATCH',
      );
      expect(message).toContain('do not broadcast');
      expect(a.disposed).toBe(false);
    });

    it('refuses mixed and unsupported dtypes', async () => {
      const [a, b, c, d] = await inputs();
      const wide = await zeros([3, 4], { dtype: 'float64', device: device() });
      expect(await expectCode(unchecked(a, b, c, wide), 'DTYPE_MISMATCH')).toContain(
        'd is float64',
      );
      const counts = await zeros([5, 5], { dtype: 'int32', device: device() });
      await expectCode(unchecked(counts, counts, counts, counts), 'DTYPE_MISMATCH');
      expect(d.disposed).toBe(false);
    });

    it.each([0, -1, NaN, Infinity])('refuses p = %d', async (p) => {
      const message = await expectCode(cdistGrad(...(await inputs()), { p }), 'INVALID_ARGUMENT');
      expect(message).toContain(String(p));
    });

    it('refuses a tensor p of another dtype or length', async () => {
      const all = await inputs();
      const double = await tensor([2], { dtype: 'float64', device: device() });
      await expectCode(unchecked(...all, { p: double }), 'DTYPE_MISMATCH');
      const [a, ...rest] = all;
      const batched = await make([2, 5, 4]);
      const three = await tensor([1, 2, 3], { dtype: 'float32', device: device() });
      await expectCode(unchecked(batched, ...rest, { p: three }), 'SHAPE_MISMATCH');
      expect(a.disposed).toBe(false);
    });

    it('refuses a wrong out and leaves the inputs alone', async () => {
      const [a, b, c, d] = await inputs();
      await expectCode(cdistGrad(a, b, c, d, { out: await make([2, 3, 5]) }), 'SHAPE_MISMATCH');
      const doubles = await zeros([2, 3, 4], { dtype: 'float64', device: device() });
      await expectCode(unchecked(a, b, c, d, { out: doubles }), 'DTYPE_MISMATCH');
      const spread = (await make([2, 3, 8])).slice(null, null, [null, null, 2]);
      await expectCode(cdistGrad(a, b, c, d, { out: spread }), 'NOT_CONTIGUOUS');
      const backwards = (await make([2, 3, 4])).slice([null, null, -1]);
      await expectCode(cdistGrad(a, b, c, d, { out: backwards }), 'NOT_CONTIGUOUS');
      const memory = await make([4, 3, 4]);
      const shared = memory.slice([0, 1]).reshape([3, 4]);
      const overlapping = memory.slice([0, 2]);
      await expectCode(cdistGrad(a, b, c, shared, { out: overlapping }), 'OVERLAP');
      const one = await make([1, 3, 4]);
      await expectCode(cdistGrad(a, b, c, d, { out: one.broadcastTo([2, 3, 4]) }), 'OVERLAP');
    });

    it('refuses disposed tensors', async () => {
      const [a, b, c] = await inputs();
      const gone = await make([3, 4]);
      gone.dispose();
      await expectCode(cdistGrad(a, b, c, gone), 'DISPOSED');
    });
  });
}

function describePrepare(device: () => Device): void {
  describe('prepare', () => {
    it('fixes dtype and p, and leaves all sizes free', async () => {
      for (const p of [2, 1.3]) {
        const like = operandsOf({ m: 16, n: 8, o: 4, k: 20 }, 1);
        const prepared = await cdistGrad.prepare(...(await uploadAll(like, 'float32', device())), {
          p,
        });
        expect(prepared.plan.summary).toMatch(/^cdist-grad/);
        for (const sizes of [
          { m: 16, n: 8, o: 4, k: 20 },
          { m: 7, n: 3, o: 17, k: 33, batch: 2, own: ['a' as const] },
        ]) {
          const operands = operandsOf(sizes, 2);
          const inputs = await uploadAll(operands, 'float32', device());
          const fresh = prepared(...inputs);
          await expectSums(fresh, operands, p);
          const out = empty(fresh.shape, { dtype: 'float32', device: device() });
          expect(prepared(...inputs, { out })).toBe(out);
          expect(planOf(out)?.summary).toMatch(/^cdist-grad/);
          await expectSums(out, operands, p);
        }
      }
    });

    it('takes another tensor p where it was prepared with one', async () => {
      const operands = operandsOf({ m: 6, n: 4, o: 3, k: 9, batch: 2, own: ['b'] }, 3);
      const inputs = await uploadAll(operands, 'float32', device());
      const first = await tensor([1.5], { dtype: 'float32', device: device() });
      const prepared = await cdistGrad.prepare(...inputs, { p: first });
      await expectSums(prepared(...inputs), operands, 1.5);
      const second = await tensor([0.75, 3], { dtype: 'float32', device: device() });
      await expectSums(prepared(...inputs, { p: second }), operands, [0.75, 3]);
    });

    it('refuses what it was not prepared for', async () => {
      const operands = operandsOf({ m: 4, n: 3, o: 2, k: 5 }, 1);
      const [a, b, c, d] = await uploadAll(operands, 'float32', device());
      const prepared = await cdistGrad.prepare(a, b, c, d, { p: 2 });
      const refuse = async (run: () => unknown, code: MercerErrorCode): Promise<void> => {
        await expectCode((async () => run())(), code);
      };
      const [w, x, y, z] = await uploadAll(operands, 'float64', device());
      await refuse(() => prepared(w, x, y, z), 'DTYPE_MISMATCH');
      const turned = (await a.transpose().clone()).transpose();
      await refuse(() => prepared(turned, b, c, d), 'NOT_CONTIGUOUS');
      const p = await tensor([3], { dtype: 'float32', device: device() });
      await refuse(() => prepared(a, b, c, d, { p }), 'INVALID_ARGUMENT');
      await refuse(() => prepared(a, b, c, c), 'SHAPE_MISMATCH');
    });
  });
}
