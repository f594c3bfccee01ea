import { assert, describe, expect, it } from 'vitest';
import { MercerError, tensor, zeros, type Device, type Tensor } from '@mercer/tensor';
import type { PairwiseDType } from '@mercer/kernels';
import { cdistBackward, type CdistVariable } from './index.js';
import {
  referenceCdistBackward,
  type ReferenceGradient,
} from './cdist-backward-reference.test-support.js';
import {
  normalValues,
  referenceCdist,
  uniformGenerator,
  type ReferenceMatrix,
} from './cdist-reference.test-support.js';
import { matrix, ORDERS, UNIT, upload, type Order } from './matrices.test-support.js';
import { combinations, covering, coveringPairs, together } from './together.test-support.js';

const NORMS = [0.5, 1, 1.3, 1.5, 2, 3, 7.5, Infinity];
const ALL: readonly CdistVariable[] = ['a', 'b', 'p'];

const wrtOf = (p: number): readonly CdistVariable[] => (p === Infinity ? ['a', 'b'] : ALL);

/** Rows that repeat each other and share coordinates with the other operand. */
function coincident(rows: number, columns: number, seed: number): ReferenceMatrix {
  const values = normalValues(rows * columns, seed).map((value) => Math.round(value));
  return { rows, columns, values };
}

async function expectGradient(
  what: string,
  actual: Tensor | undefined,
  expected: ReferenceGradient,
): Promise<void> {
  assert(actual !== undefined, `${what} is missing`);
  const dtype = actual.dtype === 'float64' ? 'float64' : 'float32';
  const got = (await actual.toTypedArray()) as Float32Array | Float64Array;
  expect(got.length).toBe(expected.values.length);
  for (const [i, want] of expected.values.entries()) {
    // The oracle itself is float64: against float64 results its own rounding counts as well.
    const limit = (expected.bounds[i] ?? 0) * UNIT[dtype] * (dtype === 'float64' ? 4 : 1);
    const error = Math.abs((got[i] ?? NaN) - want);
    if (!(error <= limit + 1e-300)) {
      assert.fail(`${what}[${i}]: ${got[i]}, expected ${want} within ${limit}`);
    }
  }
}

async function checkAll(
  g: ReferenceMatrix,
  a: ReferenceMatrix,
  b: ReferenceMatrix,
  tensors: readonly [Tensor<PairwiseDType>, Tensor<PairwiseDType>, Tensor<PairwiseDType>],
  options: { readonly p: number; readonly skipEpilogue?: boolean },
): Promise<void> {
  const { p, skipEpilogue = false } = options;
  const expected = referenceCdistBackward(g, a, b, p, skipEpilogue);
  const result = await cdistBackward(...tensors, { p, skipEpilogue, wrt: wrtOf(p) });
  const shape = `p=${p} ${a.rows}x${b.rows}x${a.columns}`;
  expect(result.a.shape).toEqual([a.rows, a.columns]);
  expect(result.b.shape).toEqual([b.rows, b.columns]);
  for (const name of wrtOf(p)) {
    await expectGradient(`${shape} d${name}`, result[name], expected[name]);
  }
}

/**
 * What `cdistBackward` promises, for one device. Every device runs the same suite. Without `full` each data type takes a third of the shapes
 * with each norm, and the other one another third.
 */
export function describeCdistBackward(device: () => Device, { full = true } = {}): void {
  describe.each(['float32', 'float64'] as const)('%s', (dtype) => {
    const turn = dtype === 'float32' ? 0 : 1;
    const up = (
      m: ReferenceMatrix,
      order: Order = 'row',
      pad = 0,
    ): Promise<Tensor<PairwiseDType>> => upload(m, order, pad, dtype, device());

    it.each(NORMS)('p = %d holds the published bound on every small shape', async (p) => {
      const shapes = [
        [1, 1, 1],
        [1, 300, 5],
        [33, 1, 64],
        [17, 29, 3],
        [70, 131, 33],
        [5, 260, 150],
      ] as const;
      await together(covering(shapes, turn + NORMS.indexOf(p), full, 3), async ([m, n, k]) => {
        const [g, a, b] = [matrix(m, n, 7 + n), matrix(m, k, 1 + m), matrix(n, k, 1000 + n)];
        const tensors = [await up(g), await up(a), await up(b)] as const;
        await checkAll(g, a, b, tensors, { p });
        if (p === 1.3 || p === 2) await checkAll(g, a, b, tensors, { p, skipEpilogue: true });
      });
    });

    it.each(NORMS)('p = %d has zeros and no NaN at coincident points', async (p) => {
      const [g, a, b] = [matrix(21, 37, 5), coincident(21, 6, 8), coincident(37, 6, 9)];
      const same: ReferenceMatrix = { rows: 37, columns: 6, values: new Float64Array(37 * 6) };
      same.values.set(a.values);
      for (const other of [b, same]) {
        const tensors = [await up(g), await up(a), await up(other)] as const;
        const powers = covering([false, true], turn + NORMS.indexOf(p), full);
        for (const skipEpilogue of p < 2 ? powers : [false]) {
          await checkAll(g, a, other, tensors, { p, skipEpilogue });
        }
      }
      const point = await tensor(new Float64Array(5).fill(3), {
        shape: [1, 5],
        dtype,
        device: device(),
      });
      const one = await tensor([[1]], { dtype, device: device() });
      const result = await cdistBackward(one, point, point, { p, wrt: wrtOf(p) });
      for (const name of wrtOf(p)) {
        const values = [...(await result[name].toTypedArray())].map(Number);
        expect(values.every((value) => value === 0)).toBe(true);
      }
    });

    it('takes every combination of layouts, padded and odd, for the gradient, a and b', async () => {
      const [g, a, b] = [matrix(37, 41, 2), matrix(37, 19, 3), matrix(41, 19, 4)];
      // with full every exponent with every padding
      const cases = full
        ? combinations(ORDERS, ORDERS, ORDERS, [0, 1, 4]).map(
            (one, i) => [...one, [1, 1.3, 2][(i + Math.floor(i / 3)) % 3] ?? 2] as const,
          )
        : coveringPairs(ORDERS, ORDERS, ORDERS, [0, 1, 4], [1, 1.3, 2]);
      expect(cases.length).toBeGreaterThanOrEqual(full ? 24 : 9);
      await together(cases, async ([orderG, orderA, orderB, pad, p]) => {
        const tensors = [
          await up(g, orderG, pad),
          await up(a, orderA, pad),
          await up(b, orderB, pad),
        ] as const;
        await checkAll(g, a, b, tensors, { p });
      });
    });

    it('gives all to the first k that attains the maximum', async () => {
      const a = await tensor([[1, -3, 3, 0]], { dtype, device: device() });
      const b = await tensor([[0, 0, 0, 0]], { dtype, device: device() });
      const g = await tensor([[2]], { dtype, device: device() });
      const { a: da, b: db } = await cdistBackward(g, a, b, { p: Infinity });
      expect(await da.toNested()).toEqual([[0, -2, 0, 0]]);
      expect([...(await db.toTypedArray())].map((x) => x + 0)).toEqual([0, 2, 0, 0]);
    });

    it('sums gradients over broadcast batch axes', async () => {
      const [m, n, k] = [9, 11, 6];
      const parts = [0, 1, 2].map((i) => matrix(m, k, 50 + i));
      const shared = matrix(n, k, 77);
      const gradients = [0, 1, 2].map((i) => matrix(m, n, 90 + i));
      const stack = (all: readonly ReferenceMatrix[]): Float64Array =>
        Float64Array.from(all.flatMap(({ values }) => [...values]));
      const x = await tensor(stack(parts), { shape: [3, m, k], dtype, device: device() });
      const g = await tensor(stack(gradients), { shape: [3, m, n], dtype, device: device() });
      const y = await up(shared);
      await together([1, 1.3, 2, Infinity], async (p) => {
        const result = await cdistBackward(g, x, y, { p, wrt: wrtOf(p) });
        expect(result.a.shape).toEqual([3, m, k]);
        expect(result.b.shape).toEqual([n, k]);
        const each = parts.map((part, i) =>
          referenceCdistBackward(gradients[i] ?? shared, part, shared, p),
        );
        const total = (name: CdistVariable): ReferenceGradient => ({
          values: each.map((r) => r[name].values).reduce(plus),
          bounds: each
            .map((r) => r[name].bounds)
            .reduce(plus)
            .map((units) => units + 1),
        });
        for (const [i, one] of each.entries()) {
          await expectGradient('da', result.a.slice(i), one.a);
        }
        await expectGradient('db', result.b, total('b'));
        if (p !== Infinity) await expectGradient('dp', result.p, total('p'));
      });
      // both operands broadcast, and a gradient that is itself a broadcast view
      const ones = (await tensor([[1]], { dtype, device: device() })).broadcastTo([3, 3, m, m]);
      const grid = await cdistBackward(ones, x, x.reshape([3, 1, m, k]), { p: 2 });
      expect(grid.a.shape).toEqual([3, m, k]);
      expect(grid.b.shape).toEqual([3, 1, m, k]);
    });

    it('reads inputs of any strides, reversed ones included', async () => {
      const source = matrix(12, 10, 5);
      const g = matrix(12, 12, 6);
      const x = await up(source);
      const reversed = x.slice([null, null, -1], [null, null, 2]);
      const values = Float64Array.from({ length: 60 }, (_, i) => {
        const [row, column] = [11 - Math.floor(i / 5), 2 * (i % 5)];
        return source.values[row * 10 + column] ?? NaN;
      });
      const expected: ReferenceMatrix = { rows: 12, columns: 5, values };
      await checkAll(g, expected, expected, [await up(g), reversed, reversed], { p: 1.5 });
    });

    it('holds for random shapes, strides and exponents', async () => {
      const random = uniformGenerator(2024);
      const int = (most: number): number => 1 + Math.floor(random() * most);
      for (let at = 0; at < 12; at++) {
        const [m, n, k, pad] = [int(90), int(300), int(70), int(3) - 1];
        const p = [0.75, 1, 2, 2.2, 4, 0.3 + 3 * random()][at % 6] ?? 2;
        const [g, a, b] = [matrix(m, n, at), matrix(m, k, at + 99), matrix(n, k, at + 199)];
        const order = (): Order => (random() < 0.5 ? 'row' : 'column');
        const tensors = [
          await up(g, order(), pad),
          await up(a, order(), pad),
          await up(b),
        ] as const;
        if (full || Math.floor(at / 6) === (at + turn) % 2) await checkAll(g, a, b, tensors, { p });
      }
    });

    it('has zero gradients where there is nothing to sum', async () => {
      const make = (shape: number[]): Promise<Tensor<PairwiseDType>> =>
        zeros(shape, { dtype, device: device() });
      const result = await cdistBackward(
        await make([2, 0]),
        await make([2, 3]),
        await make([0, 3]),
        {
          wrt: ALL,
        },
      );
      expect(await result.a.toNested()).toEqual([
        [0, 0, 0],
        [0, 0, 0],
      ]);
      expect(result.b.shape).toEqual([0, 3]);
      expect(await result.p.toNested()).toBe(0);
      const blank = await cdistBackward(
        await make([2, 3]),
        await make([2, 0]),
        await make([3, 0]),
        {
          wrt: ALL,
        },
      );
      expect(blank.a.shape).toEqual([2, 0]);
      expect(await blank.p.toNested()).toBe(0);
    });

    it('runs on any stream', async () => {
      const [g, a, b] = [
        await up(matrix(9, 11, 1)),
        await up(matrix(9, 5, 2)),
        await up(matrix(11, 5, 3)),
      ];
      const stream = device().createStream();
      const [here, there] = [
        await cdistBackward(g, a, b, { p: 3 }),
        await cdistBackward(g, a, b, { p: 3, stream }),
      ];
      expect(await there.a.toTypedArray()).toEqual(await here.a.toTypedArray());
      expect(await there.b.toTypedArray()).toEqual(await here.b.toTypedArray());
      stream.dispose();
    });

    it('gives the same bits every time', async () => {
      const [g, a, b] = [
        await up(matrix(40, 500, 1)),
        await up(matrix(40, 30, 2)),
        await up(matrix(500, 30, 3)),
      ];
      const run = async (): Promise<unknown[]> => {
        const result = await cdistBackward(g, a, b, { p: 1.3, wrt: ALL });
        return Promise.all(ALL.map((name) => result[name].toTypedArray()));
      };
      expect(await run()).toEqual(await run());
    });
  });

  it('says what is wrong', async () => {
    const make = (
      shape: number[],
      dtype: PairwiseDType = 'float32',
    ): Promise<Tensor<PairwiseDType>> => zeros(shape, { dtype, device: device() });
    const [g, a, b] = [await make([2, 3]), await make([2, 4]), await make([3, 4])];
    const code = async (promise: Promise<unknown>): Promise<string> => {
      const error: unknown = await promise.catch((reason: unknown) => reason);
      assert(error instanceof MercerError, `expected a MercerError, got ${String(error)}`);
      return error.code;
    };
    expect(await code(cdistBackward(await make([3, 2]), a, b))).toBe('SHAPE_MISMATCH');
    expect(await code(cdistBackward(await make([2, 3], 'float64'), a, b))).toBe('DTYPE_MISMATCH');
    expect(await code(cdistBackward(g, a, await make([3, 5])))).toBe('SHAPE_MISMATCH');
    expect(await code(cdistBackward(g, a, b, { p: 0 }))).toBe('INVALID_ARGUMENT');
    expect(await code(cdistBackward(g, a, b, { p: Infinity, wrt: ['p'] }))).toBe(
      'INVALID_ARGUMENT',
    );
    expect(await code(cdistBackward(g, a, b, { wrt: ['q' as 'p'] }))).toBe('INVALID_ARGUMENT');
    a.dispose();
    expect(await code(cdistBackward(g, a, b))).toBe('DISPOSED');
  });
}

const plus = (x: Float64Array, y: Float64Array): Float64Array => x.map((v, i) => v + (y[i] ?? 0));

/** The oracle itself against central differences of the float64 distances. */
export function describeReference(): void {
  it.each(NORMS)('p = %d: the oracle is the slope of the distances', (p) => {
    const [g, a, b] = [matrix(3, 4, 1), matrix(3, 5, 2), matrix(4, 5, 3)];
    const step = 1e-6;
    const loss = (x: ReferenceMatrix, y: ReferenceMatrix, exponent: number): number =>
      referenceCdist(x, y, exponent).reduce((sum, d, i) => sum + d * (g.values[i] ?? 0), 0);
    const moved = (x: ReferenceMatrix, i: number, by: number): ReferenceMatrix => ({
      ...x,
      values: x.values.map((value, j) => (i === j ? value + by : value)),
    });
    const gradients = referenceCdistBackward(g, a, b, p);
    const close = (got: number | undefined, slope: number): void => {
      expect(Math.abs((got ?? NaN) - slope)).toBeLessThan(1e-6 * (1 + Math.abs(slope)));
    };
    for (let i = 0; i < 15; i++) {
      const slope = loss(moved(a, i, step), b, p) - loss(moved(a, i, -step), b, p);
      close(gradients.a.values[i], slope / (2 * step));
    }
    for (let i = 0; i < 20; i++) {
      const slope = loss(a, moved(b, i, step), p) - loss(a, moved(b, i, -step), p);
      close(gradients.b.values[i], slope / (2 * step));
    }
    if (p === Infinity) return;
    close(gradients.p.values[0], (loss(a, b, p + step) - loss(a, b, p - step)) / (2 * step));
  });
}
