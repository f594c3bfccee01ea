import { MercerError, tensor, type Device, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import {
  genred,
  gradient,
  LazyError,
  lazyI,
  lazyJ,
  param,
  rangesFromMatrix,
  rowNumberI,
} from './index.js';
import { numbers, upload, wholeNumbers, type Numbers } from './reference.test-support.js';

/** Every row of i with the rows 0, 3, 6 and so on of j. */
const everyThird = (m: number, n: number): ReturnType<typeof rangesFromMatrix> => {
  const rows = Array.from({ length: n }, (_, j): [number, number] => [j, j + 1]);
  return rangesFromMatrix([[0, m]], rows, [rows.map((_, j) => (j % 3 === 0 ? 1 : 0))]);
};

/** Rows of tables by index, whatever the numbers of i and j. */
export function describeGather(device: () => Device): void {
  describe('gather', () => {
    const place = (): { device: Device } => ({ device: device() });

    it('takes the rows that indices name, rounded, and NaN where there is none', async () => {
      const table = await tensor(
        [
          [1, 2],
          [3, 4],
          [5, 6],
        ],
        place(),
      );
      const index = lazyI(await tensor([[0], [2], [0.6], [-0.5], [-0.51], [2.5], [NaN]], place()));
      const rows = await index.gather(table).sum('j');
      const none = [NaN, NaN];
      expect(await rows.toNested()).toEqual([[1, 2], [5, 6], [3, 4], [1, 2], none, none, none]);
      const empty = await tensor(new Float32Array(0), { shape: [0, 2], ...place() });
      expect((await (await index.gather(empty).sum('j')).toTypedArray()).every(isNaN)).toBe(true);
    });

    it('takes rows by rows by index, of batches that broadcast and of 16 bits', async () => {
      const data = numbers(1, 4, 2, { batch: [3] });
      const table = await upload(data, 'float32', device());
      const labels = await tensor([[3], [0], [2], [1], [0]], { ...place(), dtype: 'bfloat16' });
      const order = lazyI(await tensor([[4], [0]], place()));
      const found = await order.gather(labels).gather(table).sum('j');
      const values = await found.toTypedArray();
      expect(found.shape).toEqual([3, 2, 2]);
      const row = (entry: number, at: number): number[] =>
        [0, 1].map((c) => data.values[(entry * 4 + at) * 2 + c] ?? NaN);
      expect([...values]).toEqual(
        [0, 1, 2].flatMap((entry) => [row(entry, 0), row(entry, 3)].flat()),
      );
    });

    it('takes rows of a variable beside its own row', async () => {
      const x = lazyI(await tensor([[1], [4], [9], [16]], place()), { name: 'x' });
      const before = rowNumberI().sub(1).gather(x);
      const steps = x.sub(before);
      expect(await (await steps.sum('j')).toNested()).toEqual([[NaN], [3], [5], [7]]);
      // Row numbers and tables stay those of the whole.
      expect(await (await steps.rows([2, 4]).sum('j')).toNested()).toEqual([[5], [7]]);
      expect(await (await steps.t().sum('i')).toNested()).toEqual([[NaN], [3], [5], [7]]);
      const dense = await steps
        .sub(lazyJ([[1], [2]]))
        .rows([1])
        .toDense();
      expect(await dense.toNested()).toEqual([
        [[2], [1]],
        [[4], [3]],
        [[6], [5]],
      ]);
    });

    it('is what Gather is in text', async () => {
      const [x, y] = [
        [[1], [0]],
        [[5], [7]],
      ];
      const text = genred('Gather(y, x)', ['x = Vi(1)', 'y = Vj(1)'], { axis: 'j' });
      const options = { device: device() };
      // Each of the two rows of j adds the same.
      expect(await (await text(x, y, options)).toNested()).toEqual([[14], [10]]);
      expect(await (await lazyI(x).gather(y).sum('j', options)).toNested()).toEqual([[7], [5]]);
    });

    it('is an argument of later and of prepared calls, with any number of rows', async () => {
      const label = lazyJ({ position: 0, dim: 1 });
      const mass = label.gather({ position: 1, dim: 2 }).mul(lazyI({ position: 2, dim: 1 }));
      const sums = mass.reduction('Sum', 'j');
      const args = await Promise.all(
        [
          [[0], [1], [1]],
          [
            [1, 10],
            [2, 20],
          ],
          [[1], [2]],
        ].map((one) => tensor(one, place())),
      );
      const prepared = await sums.prepare(args);
      const other = await tensor(
        [
          [7, 7],
          [1, 1],
          [0, 0],
        ],
        place(),
      );
      const wanted = [
        [5, 50],
        [10, 100],
      ];
      expect(await (await sums.call(args)).toNested()).toEqual(wanted);
      expect(await prepared(args).toNested()).toEqual(wanted);
      expect(await prepared([args[0]!, other, args[2]!]).toNested()).toEqual([
        [9, 9],
        [18, 18],
      ]);
    });

    it('leaves gradients by everything else', async () => {
      const centres = await tensor([[0], [10]], place());
      const x = lazyI(await tensor([[1], [8]], place()), { name: 'x' });
      const labels = lazyI(await tensor([[0], [1]], place()));
      const inertia = x.sqdist(labels.gather(centres)).reduction('Sum', 'j');
      expect(await (await gradient(inertia, 'x', [[1], [1]])).toNested()).toEqual([[2], [-4]]);
    });

    it('is part of the gradient by a variable whose rows it takes', async () => {
      const x = lazyI(await tensor([[1], [8]], place()), { name: 'x' });
      const squares = x.mul(rowNumberI().gather(x)).reduction('Sum', 'j');
      expect(await (await gradient(squares, x, [[1], [1]])).toNested()).toEqual([[2], [16]]);
      // As a formula, the row by index is another input than the row itself.
      const own = await x.mul(rowNumberI().gather(x)).grad(x).sum('j');
      expect(await own.toNested()).toEqual([[1], [8]]);
    });

    describe('in formulas of long vectors', () => {
      const dim = 150;
      const rowsOf = ({ values }: Numbers): number[][] =>
        Array.from({ length: values.length / dim }, (_, row) => [
          ...values.subarray(row * dim, (row + 1) * dim),
        ]);

      it('takes rows whose numbers one side, both, or a long sum gives', async () => {
        const [data, centres] = [wholeNumbers(1, 5, dim), wholeNumbers(2, 4, dim)];
        const [x, table] = [rowsOf(data), rowsOf(centres)];
        const labels = [3, 0, 1.5, 7, -0.5, 2];
        const a = lazyI(await upload(data, 'float32', device()));
        const c = await upload(centres, 'float32', device());
        const y = await tensor(
          labels.map((label) => [label]),
          { ...place(), dtype: 'bfloat16' },
        );
        const far = (p: number[], q: number[] | undefined): number =>
          q === undefined ? NaN : p.reduce((sum, v, k) => sum + (v - (q[k] ?? NaN)) ** 2, 0);
        const near = a.sqdist(lazyJ(y).gather(c));
        const taken = labels.map((label) => table[Math.floor(label + 0.5)]);
        const distances = x.map((p) => taken.map((q) => far(p, q)));
        // Of what is not there the distance is NaN, which is no number for the least and the largest.
        const least = await near.kMin(2, 'j');
        expect(await least.toNested()).toEqual(
          distances
            .map((of) => of.filter((d) => !isNaN(d)).sort((p, q) => p - q))
            .map((of) => of.slice(0, 2)),
        );
        const sums = await near.sum('j', { ranges: everyThird(5, 6) });
        expect(await sums.toNested()).toEqual(
          distances.map((of) => [(of[0] ?? NaN) + (of[3] ?? NaN)]),
        );
        const both = a.sub(lazyJ(c)).argMin().gather(y);
        const places = x.map((p) =>
          table.map((q) => {
            const off = p.map((v, k) => v - (q[k] ?? NaN));
            return labels[off.indexOf(Math.min(...off))] ?? NaN;
          }),
        );
        const found = await both.sum('j');
        expect(await found.toNested()).toEqual(places.map((of) => [of.reduce((s, v) => s + v, 0)]));
      });

      it('takes rows of a variable beside its own row, and columns of a table', async () => {
        const data = wholeNumbers(3, 4, dim);
        const rows = rowsOf(data);
        const x = lazyI(await upload(data, 'float32', device()), { name: 'x' });
        const steps = x.sub(rowNumberI().sub(1).gather(x));
        const wanted = rows.map((row, r) => row.map((v, k) => v - (rows[r - 1]?.[k] ?? NaN) + 0));
        expect(await (await steps.sum('j')).toNested()).toEqual(wanted);
        // Row numbers and tables stay those of the whole.
        expect(await (await steps.rows([2, 4]).sum('j')).toNested()).toEqual(wanted.slice(2));
        expect(await (await steps.t().sum('i')).toNested()).toEqual(wanted);
        const ones = await tensor([Array<number>(300).fill(1)], place());
        const second = lazyI(ones)
          .sqnorm2()
          .sub(299)
          .gather([[1], [5]]);
        const sixes = await second.add(lazyI(ones)).sum('j');
        expect([...(await sixes.toTypedArray())]).toEqual(Array(300).fill(6));
      });

      it('leaves gradients by everything else', async () => {
        const [data, centres] = [numbers(4, 3, dim), numbers(5, 2, dim, { batch: [2] })];
        const x = lazyI(await upload(data, 'float64', device()), { name: 'x' });
        const table = await upload(centres, 'float64', device());
        const labels = lazyJ(await tensor([[1], [0], [1]], { ...place(), dtype: 'float64' }));
        const of = x.sqdist(labels.gather(table)).div(-dim).exp().reduction('Sum', 'j');
        const weights = [[1], [2], [3]];
        const seed = await tensor([weights, weights], { ...place(), dtype: 'float64' });
        const found = await (await gradient(of, x, seed)).toTypedArray();
        const [p, c] = [rowsOf(data), rowsOf(centres)];
        const wanted = p.flatMap((row, r) =>
          row.map((v, k) => {
            const parts = [1, 0, 1, 3, 2, 3].map((label) => {
              const q = c[label] ?? [];
              const d = row.reduce((sum, w, n) => sum + (w - (q[n] ?? NaN)) ** 2, 0);
              return Math.exp(-d / dim) * (-2 / dim) * (v - (q[k] ?? NaN));
            });
            return (r + 1) * parts.reduce((sum, part) => sum + part, 0);
          }),
        );
        expect(found).toHaveLength(wanted.length);
        const off = wanted.map((value, n) => Math.abs(value - (found[n] ?? NaN)));
        expect(Math.max(...off)).toBeLessThan(1e-14);
      });
    });

    const index = lazyI([[0], [1]], { name: 'index' });
    it.each<[string, (y: Tensor<'float32'>) => unknown, string, RegExp]>([
      [
        'a formula as table',
        (y) => index.gather(lazyJ(y).exp()),
        'INVALID_ARGUMENT',
        /no variable but a formula/,
      ],
      [
        'an index of two numbers',
        (y) => lazyI([[0, 1]], { name: 'pair' }).gather(y),
        'DIM_MISMATCH',
        /index has dim 2.*pair/,
      ],
      [
        'a table of one axis',
        () => index.gather([1, 2]),
        'SHAPE_MISMATCH',
        /gather: the data has shape \[2\].*two axes/,
      ],
      [
        'a table of another dtype',
        (y) => lazyI({ data: new Float64Array(1), shape: [1, 1] }, { name: 'index' }).gather(y),
        'DTYPE_MISMATCH',
        /index .*is float64 and the table float32/,
      ],
      [
        'batches that do not fit',
        (y) => lazyI(y.broadcastTo([2, 2, 1])).gather(y.broadcastTo([3, 2, 1])),
        'SHAPE_MISMATCH',
        /broadcast/,
      ],
      [
        'a position that is none',
        () => index.gather({ position: -1, dim: 1 }),
        'INVALID_ARGUMENT',
        /position is -1/,
      ],
      [
        'rows beyond the numbers of float32',
        (y) => index.gather(y.slice([0, 1]).broadcastTo([2 ** 24 + 1, 1])).sum('j'),
        'UNSUPPORTED',
        /16777217 rows.*float64/,
      ],
    ])('refuses %s', async (_, run, code, says) => {
      const y = await tensor([[1], [2]], { ...place(), dtype: 'float32' });
      const error: unknown = await Promise.resolve()
        .then(() => run(y))
        .then(
          () => undefined,
          (reason: unknown) => reason,
        );
      expect(error instanceof LazyError || error instanceof MercerError, String(error)).toBe(true);
      expect((error as LazyError).code).toBe(code);
      expect((error as LazyError).message).toMatch(says);
    });

    it('takes one vector as a table of one row, also for gradients', async () => {
      const table = param(await tensor([1, 2], place()), { name: 'table' });
      const of = lazyI(await tensor([[0], [1], [0]], place()))
        .gather(table)
        .reduction('Sum', 'j');
      const e = [
        [1, 2],
        [3, 4],
        [5, 6],
      ];
      expect(await (await gradient(of, table, e)).toNested()).toEqual([6, 8]);
    });
  });
}
