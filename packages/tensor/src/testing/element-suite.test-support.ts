import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { DTYPES, dtypeBytes, type DType } from '@mercer/kernels';
import { empty, tensor } from '../create.js';
import type { Device } from '../device.js';
import type { Tensor } from '../tensor.js';
import type { SliceRange } from '../views.js';
import { castOracle, valueOf16, type Value } from './cast-oracle.test-support.js';
import { castSamples, type Samples } from './cast-samples.test-support.js';
import { CountTable } from './count-table.test-support.js';
import { randomBits } from './random.test-support.js';

/** How a view of a test lies in memory. */
const LAYOUTS = ['linear', 'unaligned', 'strided', 'tiled', 'reversed'] as const;
type LayoutKind = (typeof LAYOUTS)[number];

interface SuiteOptions {
  /** Every dtype pair in every layout; else every pair once, and a subset of pairs in the other layouts. */
  readonly whole: boolean;
}

type RawArray = ArrayLike<number | bigint>;

function isNaN16(bits: number, dtype: 'float16' | 'bfloat16'): boolean {
  return Number.isNaN(valueOf16(bits, dtype));
}

/** Bitwise equality, NaN equal to NaN. */
function sameElement(found: Value, expected: Value | 'nan', dtype: DType): boolean {
  if (dtype === 'float16' || dtype === 'bfloat16') {
    return expected === 'nan' ? isNaN16(Number(found), dtype) : found === expected;
  }
  return expected === 'nan' ? Number.isNaN(found) : Object.is(found, expected);
}

/** A [rows, columns] view with the wanted layout, not written yet. */
function viewOf(
  dtype: DType,
  [rows, columns]: readonly [number, number],
  layout: LayoutKind,
  device: Device,
): Tensor {
  const make = (shape: readonly number[]): Tensor => empty(shape, { dtype, device });
  switch (layout) {
    case 'linear':
      return make([rows, columns]);
    case 'unaligned':
      return make([rows * columns + 1])
        .slice([1])
        .reshape([rows, columns]);
    case 'strided':
      return make([rows, columns, 2]).slice(null, null, 1);
    case 'tiled':
      return make([columns, rows]).transpose();
    case 'reversed':
      return make([rows, columns]).slice([null, null, -1], [null, null, -1]);
  }
}

async function checkCast(
  from: DType,
  to: DType,
  layout: LayoutKind,
  device: Device,
): Promise<number> {
  const { raw, values } = samplesOf(from);
  const columns = 100;
  const rows = Math.ceil(values.length / columns);
  const padded = new (raw.constructor as new (n: number) => Samples['raw'])(rows * columns);
  (padded as Float64Array).set(raw as Float64Array);
  const whole = await tensor(padded as Float64Array, {
    dtype: from,
    shape: [rows, columns],
    device,
  });
  const source = viewOf(from, [rows, columns], layout, device);
  await source.copyFrom(whole);
  const target = viewOf(to, [rows, columns], layout === 'tiled' ? 'linear' : layout, device);
  await source.cast(to, { out: target });
  const found = (await target.toTypedArray({ raw: true })) as RawArray;
  let wrong = 0;
  let first = '';
  values.forEach((value, i) => {
    const expected = from === to ? (raw[i] ?? 0) : castOracle(value, to);
    const sameNaN = Number.isNaN(expected) ? 'nan' : expected;
    if (sameElement(found[i] ?? 0, sameNaN, to)) return;
    wrong++;
    first ||= `element ${i}: ${value} (${from}) gave ${found[i]}, expected ${expected}`;
  });
  expect(first).toBe('');
  expect(wrong).toBe(0);
  for (const t of [whole, source, target]) t.dispose();
  return values.length;
}

const samples = new Map<DType, Samples>();
function samplesOf(dtype: DType): Samples {
  let found = samples.get(dtype);
  if (found === undefined) samples.set(dtype, (found = castSamples(dtype)));
  return found;
}

/** The oracle of a view: its elements in row-major order, from plain index arithmetic. */
function elementsOf(view: Tensor, memory: RawArray): (number | bigint)[] {
  let positions = [view.offset];
  view.shape.forEach((extent, axis) => {
    const stride = view.strides[axis] ?? 0;
    positions = positions.flatMap((p) => Array.from({ length: extent }, (_, i) => p + i * stride));
  });
  return positions.map((p) => memory[p] ?? 0);
}

type ViewOp = 'slice' | 'reverse' | 'permute' | 'broadcast' | 'index' | 'reshape';
const VIEW_OPS: readonly ViewOp[] = [
  'slice',
  'reverse',
  'permute',
  'broadcast',
  'index',
  'reshape',
];

/** Applies one view operation chosen by `pick`; undefined where it does not apply. */
function applyOp(view: Tensor, op: ViewOp, pick: (limit: number) => number): Tensor | undefined {
  const { shape, rank } = view;
  const axis = rank === 0 ? 0 : pick(rank);
  const ranges = (range: SliceRange): SliceRange[] =>
    shape.map((_, i) => (i === axis ? range : null));
  switch (op) {
    case 'slice': {
      if (rank === 0) return undefined;
      const extent = shape[axis] ?? 0;
      return view.slice(...ranges([pick(extent + 1), pick(extent + 1), 1 + pick(3)]));
    }
    case 'reverse':
      return rank === 0 ? undefined : view.slice(...ranges([null, null, -1 - pick(2)]));
    case 'index':
      return rank === 0 || shape[axis] === 0
        ? undefined
        : view.slice(...ranges(pick(shape[axis] ?? 1)));
    case 'permute': {
      const axes = shape.map((_, i) => i);
      for (let i = rank - 1; i > 0; i--) {
        const j = pick(i + 1);
        [axes[i], axes[j]] = [axes[j] ?? 0, axes[i] ?? 0];
      }
      return view.permute(axes);
    }
    case 'broadcast':
      return rank > 6 || view.size > 2000 ? undefined : view.broadcastTo([1 + pick(3), ...shape]);
    case 'reshape': {
      if (!view.isContiguous || view.size === 0) return undefined;
      const divisors = Array.from({ length: view.size }, (_, i) => i + 1).filter(
        (d) => view.size % d === 0,
      );
      return view.reshape([divisors[pick(divisors.length)] ?? 1, -1]);
    }
  }
}

/** Casts, fills and strided copies of one device against oracles in plain JavaScript. */
export function elementSuite(name: string, getDevice: () => Device, { whole }: SuiteOptions): void {
  describe(`elements on ${name}`, () => {
    let device: Device;
    const table = new CountTable()
      .expect('from', DTYPES)
      .expect('to', DTYPES)
      .expect('layout', LAYOUTS);
    beforeAll(() => {
      device = getDevice();
    });

    for (const [i, from] of DTYPES.entries()) {
      it(`casts ${from} to every dtype`, { timeout: 300_000 }, async () => {
        await Promise.all(
          DTYPES.map(async (to, j) => {
            for (const [l, layout] of LAYOUTS.entries()) {
              if (!whole && layout !== 'linear' && (i + j + l) % 4 !== 0) continue;
              const count = await checkCast(from, to, layout, device);
              expect(count).toBeGreaterThan(0);
              table.add('from', from);
              table.add('to', to);
              table.add('layout', layout);
            }
          }),
        );
      });
    }

    it('met every dtype on both sides and every layout', () => {
      expect(table.report(`casts on ${name}`)).toEqual([]);
    });

    it('fills every dtype in every layout, exactly', { timeout: 300_000 }, async () => {
      const values: readonly Value[] = [
        0,
        1,
        -2,
        2.5,
        255,
        NaN,
        Infinity,
        2n ** 62n + 1n,
        -(2n ** 63n),
      ];
      for (const dtype of DTYPES) {
        for (const layout of LAYOUTS) {
          const view = viewOf(dtype, [37, 41], layout, device);
          for (const value of values) {
            await view.fill(value);
            const found = (await view.toTypedArray({ raw: true })) as RawArray;
            // A number is a float64, a bigint an int64; storing it is a cast.
            const expected = castOracle(value, dtype);
            const wrong = Array.from(found).filter((x) => !sameElement(x, expected, dtype));
            expect(wrong, `${value} as ${dtype}, ${layout}`).toEqual([]);
          }
          view.dispose();
        }
      }
    });

    it('fills a view and leaves the rest alone', async () => {
      const all = await tensor(new Int32Array(60), { shape: [3, 4, 5], device });
      await all.slice(1, [1, 3], [0, 5, 2]).fill(7);
      const expected = new Int32Array(60);
      for (const j of [1, 2]) for (const k of [0, 2, 4]) expected[20 + j * 5 + k] = 7;
      expect(await all.toTypedArray()).toEqual(expected);
      all.dispose();
    });

    it('copies and reads any chain of views', { timeout: 300_000 }, async () => {
      const counts = new CountTable().expect('op', VIEW_OPS).expect('dtype', DTYPES);
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...DTYPES),
          fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 }),
          fc.array(fc.constantFrom(...VIEW_OPS), { maxLength: 5 }),
          fc.integer(),
          async (dtype, shape, ops, seed) => {
            const bits = randomBits(seed);
            const pick = (limit: number): number => bits() % Math.max(1, limit);
            const size = shape.reduce((a, b) => a * b, 1);
            const bytes = new Uint8Array(size * dtypeBytes(dtype)).map(() =>
              dtype === 'bool' ? bits() & 1 : bits() & 0x3f,
            );
            const base = empty(shape, { dtype, device });
            const memory = (await base.toTypedArray({ raw: true })) as Uint8Array;
            new Uint8Array(memory.buffer).set(bytes);
            const loaded = await tensor(memory, { dtype, shape, device });
            let view: Tensor = loaded.view();
            for (const op of ops) {
              const next = applyOp(view, op, pick);
              if (next === undefined) continue;
              counts.add('op', op);
              view.dispose();
              view = next;
            }
            counts.add('dtype', dtype);
            const expected = elementsOf(view, memory);
            expect(Array.from((await view.toTypedArray({ raw: true })) as RawArray)).toEqual(
              expected,
            );
            const copy = await view.clone();
            expect(copy.isContiguous).toBe(true);
            expect(Array.from((await copy.toTypedArray({ raw: true })) as RawArray)).toEqual(
              expected,
            );
            for (const t of [base, loaded, view, copy]) t.dispose();
          },
        ),
        { numRuns: whole ? 600 : 150, seed: 7 },
      );
      expect(counts.report(`views on ${name}`)).toEqual([]);
    });

    it('copies eight dimensions that cannot be merged', async () => {
      const shape = [2, 3, 2, 3, 2, 3, 2, 3];
      const padded = shape.map((n) => n + 1);
      const size = padded.reduce((a, b) => a * b, 1);
      const data = Float32Array.from({ length: size }, (_, i) => i);
      const base = await tensor(data, { shape: padded, device });
      const view = base.slice(...shape.map((n): [number, number] => [1, 1 + n]));
      expect(view.shape).toEqual(shape);
      const memory = (await base.toTypedArray()) as RawArray;
      const copy = await view.clone();
      expect(Array.from((await copy.toTypedArray()) as RawArray)).toEqual(elementsOf(view, memory));
      for (const t of [base, view, copy]) t.dispose();
    });

    it('transposes large matrices and batches of them', { timeout: 120_000 }, async () => {
      for (const shape of [
        [1000, 777],
        [3, 300, 257],
        [65, 2, 63],
      ]) {
        const size = shape.reduce((a, b) => a * b, 1);
        for (const dtype of ['float32', 'uint8', 'float64', 'bfloat16'] as const) {
          const data = Float64Array.from({ length: size }, (_, i) => i % 251);
          const base = await tensor(data, { shape, dtype, device });
          const copy = await base.transpose().clone();
          const found = (await copy.toTypedArray()) as ArrayLike<number>;
          const [rows, columns] = shape.slice(-2) as [number, number];
          let wrong = 0;
          for (let at = 0; at < size; at++) {
            const plane = Math.floor(at / (rows * columns));
            const rest = at % (rows * columns);
            const from = plane * rows * columns + (rest % rows) * columns + Math.floor(rest / rows);
            if (found[at] !== from % 251) wrong++;
          }
          expect(wrong, `${dtype} [${shape.join(', ')}]`).toBe(0);
          base.dispose();
          copy.dispose();
        }
      }
    });

    it('does nothing for tensors without elements', async () => {
      for (const shape of [[0], [3, 0, 2], [0, 0]]) {
        const none = empty(shape, { dtype: 'int32', device });
        await none.fill(1);
        const cast = await none.cast('float64');
        expect(await cast.toTypedArray()).toEqual(new Float64Array(0));
        expect((await none.transpose().clone()).size).toBe(0);
      }
    });
  });
}
