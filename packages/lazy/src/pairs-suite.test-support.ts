import { empty, tensor, type Device, type Tensor } from '@mercer/tensor';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../tensor/test/memory-kept.mjs';
import {
  genred,
  gradient,
  lazyI,
  lazyJ,
  lazyPair,
  param,
  rangesFromMatrix,
  valueAndGradients,
} from './index.js';

type Float64 = Tensor<'float64'>;
/** Numbers of (batch, i, j, component), by functions of these. */
type At = (b: number, i: number, j: number, c: number) => number;

const upTo = (count: number): number[] => Array.from({ length: count }, (_, at) => at);
const sum = (values: readonly number[]): number => values.reduce((total, one) => total + one, 0);
const read = async (x: Tensor): Promise<number[]> => [...(await x.toTypedArray())].map(Number);

function near(got: readonly number[], wanted: readonly number[], bound = 1e-12): void {
  expect(got.length).toBe(wanted.length);
  for (const [at, one] of wanted.entries()) {
    // infinities
    if (got[at] === one) continue;
    expect(Math.abs((got[at] ?? NaN) - one)).toBeLessThanOrEqual(bound * (1 + Math.abs(one)));
  }
}

/** How a matrix of pairs lies in memory. */
const LAYOUTS = ['dense', 'transposed', 'padded', 'columns of components', 'reversed'] as const;
type Layout = (typeof LAYOUTS)[number];

/** What stored values of pairs compute, against plain loops over the meaning. */
export function describePairs(device: () => Device): void {
  describe('values of pairs', () => {
    const of = (shape: readonly number[], values: readonly number[]): Promise<Float64> =>
      tensor(Float64Array.from(values), { shape, device: device() });
    const numbers = (count: number, seed: number): number[] =>
      upTo(count).map((at) => Math.sin(12.9898 * (at + 1) + seed));

    /** (..batch, M, N, D) as a tensor of this layout; with D undefined (..batch, M, N). */
    async function laidOut(
      batch: readonly number[],
      [m, n, d]: readonly [number, number, number | undefined],
      values: readonly number[],
      layout: Layout,
    ): Promise<Float64> {
      const last = d === undefined ? [] : [d];
      const shape = [...batch, m, n, ...last];
      const plain = await of(shape, values);
      if (layout === 'dense') return plain;
      const options = { dtype: 'float64', device: device() } as const;
      const axes = shape.map((_, axis) => axis);
      const [i, j] = [batch.length, batch.length + 1];
      const skip = batch.map(() => null);
      const rest = last.map(() => null);
      const target = {
        transposed: () => {
          const swapped = axes.with(i, j).with(j, i);
          const turned = empty(
            swapped.map((axis) => shape[axis] ?? 1),
            options,
          );
          return turned.permute(swapped);
        },
        padded: () =>
          empty([...batch, m + 1, n + 2, ...last], options).slice(
            ...skip,
            m === 0 ? [0, 0] : [1, m + 1],
            n === 0 ? [0, 0] : [1, n + 1],
            ...rest,
          ),
        'columns of components': () => {
          // components lie farthest apart: such a matrix is copied
          const turned = empty([...last, ...batch, m, n], options);
          const own = upTo(batch.length + 2).map((axis) => axis + last.length);
          return turned.permute([...own, ...rest.map(() => 0)]);
        },
        reversed: () => empty(shape, options).slice(...skip, [-1, null, -1], ...[null, ...rest]),
      }[layout]();
      await target.copyFrom(plain);
      return target;
    }

    const batches = fc.constantFrom<readonly number[]>([], [1], [2], [3, 1], [1, 2], [3, 2]);
    const entriesOf = (batch: readonly number[]): number => batch.reduce((p, n) => p * n, 1);
    /** The entry of an input of batch [3, 2] broadcast. */
    const entryOf = (own: readonly number[], [a, b]: readonly [number, number]): number => {
      const [x, y] = own.length === 2 ? own : [1, own[0] ?? 1];
      return (x === 1 ? 0 : a) * (y ?? 1) + (y === 1 ? 0 : b);
    };

    it(
      'sums, extrema and log-sum-exp over matrices of every layout',
      { timeout: 120_000 },
      async () => {
        const seen = new Map<string, number>();
        const count = (key: string): Map<string, number> => seen.set(key, (seen.get(key) ?? 0) + 1);
        await fc.assert(
          fc.asyncProperty(
            fc.constantFrom(...LAYOUTS),
            fc.tuple(batches, batches),
            fc.tuple(fc.constantFrom(1, 2, 9), fc.constantFrom(0, 1, 5, 40)),
            fc.constantFrom<number | undefined>(undefined, 1, 2, 3),
            fc.constantFrom('sum', 'argMin', 'logSumExp', 'max'),
            fc.boolean(),
            fc.nat(1000),
            async (layout, [batch, batchY], [m, n], d, kind, overJ, seed) => {
              const dim = d ?? 1;
              const values = numbers(entriesOf(batch) * m * n * dim, seed);
              const ofY = numbers(entriesOf(batchY) * n * dim, seed + 1);
              const both: readonly [number, number] = [3, 2];
              const whole = await of([3, 2, m, 1], numbers(6 * m, seed + 2));
              const stored = await laidOut(batch, [m, n, d], values, layout);
              const matrix = lazyPair(stored, { components: d !== undefined });
              const y = lazyJ(await of([...batchY, n, dim], ofY));
              const product = matrix.mul(y).add(lazyI(whole));
              const ofX = await read(whole);
              const at: At = (b, i, j, c) => {
                const pair: readonly [number, number] = [Math.floor(b / 2), b % 2];
                const own = values[((entryOf(batch, pair) * m + i) * n + j) * dim + c] ?? NaN;
                const other = ofY[(entryOf(batchY, pair) * n + j) * dim + c] ?? NaN;
                return own * other + (ofX[b * m + i] ?? NaN);
              };
              const wanted: number[] = [];
              for (let b = 0; b < entriesOf(both); b++) {
                for (const row of upTo(overJ ? m : n)) {
                  const terms = (c: number): number[] =>
                    upTo(overJ ? n : m).map((k) => (overJ ? at(b, row, k, c) : at(b, k, row, c)));
                  if (kind === 'logSumExp') {
                    const all = terms(0).map((_, k) =>
                      sum(upTo(dim).map((c) => terms(c)[k] ?? NaN)),
                    );
                    wanted.push(Math.log(sum(all.map(Math.exp))));
                    continue;
                  }
                  for (const c of upTo(dim)) {
                    const column = terms(c);
                    if (kind === 'sum') wanted.push(sum(column));
                    else if (kind === 'max') wanted.push(Math.max(...column));
                    else wanted.push(column.indexOf(Math.min(...column)));
                  }
                }
              }
              const axis = overJ ? 'j' : 'i';
              const scores = kind === 'logSumExp' ? product.sum() : product;
              const found = await scores[kind as 'sum'](axis);
              const got = await read(found);
              if (kind === 'argMin') expect(got).toEqual(wanted);
              else near(got, wanted);
              for (const key of [layout, kind, `over ${axis}`, `batch ${batch.join()}`]) count(key);
              for (const one of [whole, stored, found]) one.dispose();
            },
          ),
          { seed: 7, numRuns: 60 },
        );
        for (const key of [...LAYOUTS, 'sum', 'argMin', 'logSumExp', 'max', 'over i', 'over j']) {
          expect(seen.get(key), key).toBeGreaterThan(5);
        }
      },
    );

    const [M, N] = [4, 6];
    const given = async (): Promise<{
      readonly m: Float64;
      readonly x: Float64;
      readonly y: Float64;
    }> => ({
      m: await of([M, N], numbers(M * N, 1)),
      x: await of([M, 2], numbers(M * 2, 2)),
      y: await of([N, 2], numbers(N * 2, 3)),
    });

    it('is a product of matrices where nothing else stands beside it', async () => {
      const { m, y } = await given();
      const [ofM, ofY] = [await read(m), await read(y)];
      const wanted = upTo(M).flatMap((i) =>
        upTo(2).map((c) => sum(upTo(N).map((j) => ofM[i * N + j]! * ofY[2 * j + c]!))),
      );
      near(await read(await lazyPair(m).matmul(y)), wanted);
      const { rowsI, rowsJ, dim, shape } = lazyPair(m);
      expect([rowsI, rowsJ, dim, ...shape]).toEqual([M, N, 1, M, N, 1]);
      const out = empty([M, 2], { dtype: 'float64', device: device() });
      expect(await lazyPair(m).matmul(y, { out })).toBe(out);
      near(await read(out), wanted);
    });

    it('is transposed, cut, dense and diagonal as other matrices', async () => {
      const { m, x } = await given();
      const [ofM, ofX] = [await read(m), await read(x)];
      const matrix = lazyPair(m);
      near(await read(await matrix.toDense()), ofM);
      const turned = upTo(N).flatMap((j) => upTo(M).map((i) => ofM[i * N + j]!));
      near(await read(await matrix.t().toDense()), turned);
      near(await read(await matrix.t().t().toDense()), ofM);
      const wanted = upTo(N).map((j) => sum(upTo(M).map((i) => ofM[i * N + j]! * ofX[2 * i]!)));
      near(await read(await matrix.t().mul(lazyJ(x).elem(0)).sum('j')), wanted);
      // a turned matrix and itself are two inputs over the same tensor
      const square = await of([3, 3], numbers(9, 8));
      const ofSquare = await read(square);
      const both = lazyPair(square).sub(lazyPair(square).t());
      const skew = upTo(3).flatMap((i) =>
        upTo(3).map((j) => ofSquare[3 * i + j]! - ofSquare[3 * j + i]!),
      );
      near(await read(await both.toDense()), skew);
      near(
        await read(await lazyPair(square).diag()),
        [0, 4, 8].map((at) => ofSquare[at]!),
      );
      const rows = await matrix.add(lazyI(x).sum()).rows([1, 4, 2]).sum('j');
      near(
        await read(rows),
        [1, 3].map((i) => sum(ofM.slice(i * N, (i + 1) * N)) + N * (ofX[2 * i]! + ofX[2 * i + 1]!)),
      );
      // rows of a turned matrix are columns of its own
      near(
        await read(await matrix.t().rows([2, 4]).toDense()),
        [2, 3].flatMap((j) => upTo(M).map((i) => ofM[i * N + j]!)),
      );
    });

    it('masks pairs, and lists those that a mask lets through', async () => {
      const { m, x, y } = await given();
      const [ofM, ofX, ofY] = [await read(m), await read(x), await read(y)];
      const mask = lazyPair(m).gt(0);
      const distance = lazyI(x).sqdist(lazyJ(y));
      const at = (i: number, j: number): number =>
        (ofX[2 * i]! - ofY[2 * j]!) ** 2 + (ofX[2 * i + 1]! - ofY[2 * j + 1]!) ** 2;
      const sums = upTo(M).map((i) =>
        sum(upTo(N).map((j) => (ofM[i * N + j]! > 0 ? Math.exp(-at(i, j)) : 0))),
      );
      near(await read(await distance.neg().exp().mul(mask).sum('j')), sums);
      const found = await mask.nonzero('j', { values: distance });
      const pairs = upTo(M).flatMap((i) => upTo(N).filter((j) => ofM[i * N + j]! > 0));
      expect(await read(found.indices)).toEqual(pairs);
      const values = upTo(M).flatMap((i) =>
        upTo(N).flatMap((j) => (ofM[i * N + j]! > 0 ? [at(i, j)] : [])),
      );
      near(await read(found.values!), values);
    });

    it('has a gradient for every pair, broadcast batch axes added up', async () => {
      const m = await of([M, N, 2], numbers(M * N * 2, 1));
      const y = await of([3, N, 2], numbers(3 * N * 2, 2));
      const e = await of([3, M, 2], numbers(3 * M * 2, 3));
      const [ofM, ofY, ofE] = [await read(m), await read(y), await read(e)];
      const matrix = lazyPair(m, { components: true, name: 'm' });
      const energy = matrix.square().mul(lazyJ(y)).reduction('Sum', 'j');
      const wanted = upTo(M * N * 2).map((at) => {
        const [i, j, c] = [Math.floor(at / (2 * N)), Math.floor(at / 2) % N, at % 2];
        return sum(
          upTo(3).map((b) => 2 * ofM[at]! * ofY[(b * N + j) * 2 + c]! * ofE[(b * M + i) * 2 + c]!),
        );
      });
      const byPair = await gradient(energy, matrix, e);
      expect(byPair.shape).toEqual([M, N, 2]);
      near(await read(byPair), wanted);
      near(await read(await gradient(energy, 'm', e)), wanted);
      const out = empty([M, N, 2], { dtype: 'float64', device: device() });
      await gradient(energy, matrix, e, { out });
      near(await read(out), wanted);
    });

    it.each(['Sum', 'LogSumExp', 'SumSoftMaxWeight', 'Max', 'KMin', 'Var', 'Mean'] as const)(
      'has the slopes of %s over either side as gradients, with those of rows beside it',
      async (kind) => {
        const { m, x, y } = await given();
        for (const axis of ['i', 'j'] as const) {
          const kept = axis === 'j' ? M : N;
          const build = (ofM: Float64, ofX: Float64) => {
            const matrix = lazyPair(ofM);
            const rows = lazyI(ofX);
            const scores = matrix.mul(rows.dot(lazyJ(y))).add(matrix.square());
            const weight = lazyJ(y).elem(0).add(lazyI(ofX).elem(1));
            const options = {
              ...(kind === 'SumSoftMaxWeight' && { weight }),
              ...(kind === 'KMin' && { k: 2 }),
            };
            return { matrix, rows, of: scores.reduction(kind, axis, options) };
          };
          const width = kind === 'KMin' ? 2 : 1;
          const seed = numbers(kept * width, 5);
          const cotangent = await of([kept, width], seed);
          const { matrix, rows, of: reduction } = build(m, x);
          const { gradients } = await valueAndGradients(
            reduction,
            { byPair: matrix, byRow: rows },
            { cotangent },
          );
          const value = async (ofM: Float64, ofX: Float64): Promise<number> => {
            const found = (await build(ofM, ofX).of.call([])) as Tensor;
            return sum((await read(found)).map((one, at) => one * seed[at]!));
          };
          const step = 1e-5;
          for (const [what, whole] of [
            ['byPair', m],
            ['byRow', x],
          ] as const) {
            const all = await read(whole);
            const got = await read(gradients[what]);
            expect(got.length).toBe(all.length);
            for (const at of [0, 3, all.length - 1]) {
              const moved = async (by: number): Promise<number> => {
                const other = await of(whole.shape, all.with(at, all[at]! + by));
                return what === 'byPair' ? value(other, x) : value(m, other);
              };
              const slope = ((await moved(step)) - (await moved(-step))) / (2 * step);
              expect(got[at]).toBeCloseTo(slope, 6);
            }
          }
        }
      },
    );

    it('is an argument of text, of calls made again and of prepared calls', async () => {
      const smooth = genred('m * Exp(-SqDist(x, y))', ['x = Vi(2)', 'y = Vj(2)', 'm = Vij(1)'], {
        axis: 'j',
      });
      const many = genred('m * b', ['m = Vij(3)', 'b = Vj(3)'], { axis: 1 });
      const { x, y } = await given();
      const wantedOf = async (ofM: readonly number[]): Promise<number[]> => {
        const [ofX, ofY] = [await read(x), await read(y)];
        return upTo(M).map((i) =>
          sum(
            upTo(N).map((j) => {
              const d2 = sum(upTo(2).map((c) => (ofX[2 * i + c]! - ofY[2 * j + c]!) ** 2));
              return ofM[i * N + j]! * Math.exp(-d2);
            }),
          ),
        );
      };
      const prepared = await smooth.prepare(x, y, await of([M, N], numbers(M * N, 0)));
      for (const turn of upTo(4)) {
        const values = numbers(M * N, turn);
        const dense = await of([M, N], values);
        const wanted = await wantedOf(values);
        near(await read(await smooth(x, y, dense)), wanted);
        near(await read(prepared([x, y, dense])), wanted);
        // the same numbers, turned in memory: the kernel is the same, its strides are others
        const turned = empty([N, M], { dtype: 'float64', device: device() }).transpose();
        await turned.copyFrom(dense);
        near(await read(await smooth(x, y, turned)), wanted);
        near(await read(prepared([x, y, turned])), wanted);
      }
      const m = numbers(M * N * 3, 1);
      const b = numbers(N * 3, 2);
      const found = await many(await of([M, N, 3], m), await of([N, 3], b));
      near(
        await read(found),
        upTo(M * 3).map((at) =>
          sum(
            upTo(N).map(
              (j) => m[(Math.floor(at / 3) * N + j) * 3 + (at % 3)]! * b[j * 3 + (at % 3)]!,
            ),
          ),
        ),
      );
      const later = lazyPair({ position: 0, dim: 1 })
        .t()
        .mul(lazyI({ position: 1, dim: 1 }));
      const square = await of([2, 3], [1, 2, 3, 4, 5, 6]);
      const result = await later
        .reduction('Sum', 'i')
        .call([square, await of([3, 1], [1, 10, 100])]);
      near(await read(result), [321, 654]);
    });

    it('is read within ranges at its own pairs', async () => {
      const { m, y } = await given();
      const [ofM, ofY] = [await read(m), await read(y)];
      const ranges = rangesFromMatrix(
        [
          [0, 2],
          [3, 4],
        ],
        [
          [1, 3],
          [5, 6],
        ],
        [
          [1, 0],
          [0, 1],
        ],
      );
      const columns = [[1, 2], [1, 2], [], [5]];
      const wanted = columns.map((seen, i) => sum(seen.map((j) => ofM[i * N + j]! * ofY[2 * j]!)));
      const product = lazyPair(m).mul(lazyJ(y).elem(0));
      near(await read(await product.sum('j', { ranges })), wanted);
    });

    it('takes 16 bits, host data, tables beside it and several reductions in one pass', async () => {
      const { m } = await given();
      const whole = upTo(M * N).map((at) => (at * 7) % 5);
      const half = await tensor(whole, { shape: [M, N], dtype: 'float16', device: device() });
      const rowsOf = (i: number): number[] => whole.slice(i * N, (i + 1) * N);
      expect(await read(await lazyPair(half).sum('j'))).toEqual(upTo(M).map((i) => sum(rowsOf(i))));
      const nested = lazyPair([
        [1, 2],
        [3, 4],
        [5, 6],
      ]);
      const options = { device: device() };
      expect(await read(await nested.sum('i', options))).toEqual([9, 12]);
      expect(await read(await nested.mul(param(2)).sum('j', options))).toEqual([6, 14, 22]);
      const table = await of([5, 1], [10, 20, 30, 40, 50]);
      const named = lazyPair(await of([M, N], whole)).gather(table);
      expect(await read(await named.sum('j'))).toEqual(
        upTo(M).map((i) => sum(rowsOf(i).map((at) => 10 * (at + 1)))),
      );
      // each pair names a row of the table, which gets what is summed there
      const byTable = await gradient(
        named.reduction('Sum', 'j'),
        lazyI(table),
        await of([M, 1], [1, 1, 1, 1]),
      );
      expect(await read(byTable)).toEqual(
        upTo(5).map((row) => whole.filter((at) => at === row).length),
      );
      const { total, nearest } = await lazyPair(m).reduceMany('j', {
        total: 'Sum',
        nearest: { kind: 'ArgKMin', k: 2 },
      });
      const ofM = await read(m);
      near(
        await read(total),
        upTo(M).map((i) => sum(ofM.slice(i * N, (i + 1) * N))),
      );
      expect((await read(nearest)).slice(0, 2)).toEqual(
        upTo(N)
          .sort((a, b) => ofM[a]! - ofM[b]!)
          .slice(0, 2),
      );
    });

    it('keeps no memory', async () => {
      const { m, y } = await given();
      const squares = lazyPair(m).square().reduction('LogSumExp', 'i');
      const ones = await of([N, 1], upTo(N).fill(1));
      const kept = await memoryKept(device(), async () => {
        const sums = await lazyPair(m).mul(lazyJ(y)).sum('j');
        const byM = await gradient(squares, lazyPair(m), ones);
        for (const one of [sums, byM]) one.dispose();
        await device().synchronize();
      });
      expect(kept).toEqual(NOTHING);
    });
  });
}
