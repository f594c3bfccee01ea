import { empty, MercerError, tensor, type Device } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../tensor/test/memory-kept.mjs';
import {
  genred,
  gradient,
  LazyError,
  lazyI,
  lazyJ,
  rangesFromMatrix,
  rowNumberI,
  rowNumberJ,
  valueAndGradients,
  withGradients,
  type RangesOption,
} from './index.js';
import { numbers, upload } from './reference.test-support.js';
import { expectSlopes, gradientByLoops } from './slopes.test-support.js';
import { get, meantOf, TABLE_CASES } from './table-gradient-cases.test-support.js';

/** Gradients by what rows are taken of by index. */
export function describeTableGradients(device: () => Device): void {
  describe('gradients by tables', () => {
    const place = (): { device: Device } => ({ device: device() });

    it.each(TABLE_CASES)('are those of plain loops: %s', async (_, one) => {
      const { data, of: make, by = ['table'] } = one;
      const named = await Promise.all(
        Object.entries(data).map(
          async ([name, one]) => [name, await upload(one, 'float64', device())] as const,
        ),
      );
      const t = Object.fromEntries(named);
      const of = make(t);
      const value = await of.call();
      const shape = ('values' in value ? value.values : value).shape;
      const cotangent = numbers(11, shape.at(-2) ?? 1, shape.at(-1) ?? 1, {
        batch: shape.slice(0, -2),
      });
      const e = await upload(cotangent, 'float64', device());
      const names = Object.fromEntries(by.map((name) => [name, lazyI(get(t, name))]));
      for (const name of by)
        if (of.inputs.some((one) => one.name === name)) names[name] = name as never;
      const all = await valueAndGradients(of, names, { cotangent: e });
      for (const name of by) {
        const alone = await gradient(of, names[name]!, e);
        expect(alone.shape).toEqual(get(t, name).shape);
        const found = await alone.toTypedArray();
        const wanted = gradientByLoops(meantOf(one), data, name, cotangent);
        expectSlopes(found, wanted);
        expectSlopes(await all.gradients[name]!.toTypedArray(), wanted);
      }
    });

    const ones = (rows: number): number[][] => Array.from({ length: rows }, () => [1]);

    it('are of the table by its name, and of text', async () => {
      const centres = lazyI(await tensor([[0], [10], [20]], place()), { name: 'centres' });
      const index = lazyI(await tensor([[1], [0], [1]], place()), { name: 'index' });
      const of = index
        .gather(centres)
        .mul(lazyJ([[2], [3]]))
        .reduction('Sum', 'j');
      for (const by of ['centres', centres]) {
        expect(await (await gradient(of, by, ones(3))).toNested()).toEqual([[5], [10], [0]]);
      }
      const text = genred('x * Gather(y, x)', ['x = Vi(1)', 'y = Vj(1)'], { axis: 'j' });
      const x = await tensor([[1], [0]], place());
      const y = await tensor([[5], [7]], place());
      // Each of the two rows of j adds the same.
      const bound = text.reduction.bind([x, y]);
      expect(await (await gradient(bound, 'y', ones(2))).toNested()).toEqual([[0], [2]]);
      expect(await (await gradient(bound, 'x', ones(2))).toNested()).toEqual([[14], [10]]);
      // y beside rows of y, both through one argument.
      const both = genred('y * Gather(y, x)', ['x = Vi(1)', 'y = Vj(1)'], { axis: 'j' });
      const twice = both.reduction.bind([x, y]);
      expect(await (await gradient(twice, 'y', ones(2))).toNested()).toEqual([[24], [24]]);
    });

    it('leave one pass to variables beside tables, in text too', async () => {
      const text = genred('x * Gather(y, x)', ['x = Vi(1)', 'y = Vj(1)'], { axis: 'j' });
      const joint = withGradients(text.reduction, { byX: 'x' });
      const args = [await tensor([[1], [0]], place()), await tensor([[5], [7]], place())];
      const prepared = await joint.prepare(args);
      for (const { value, byX } of [await joint.call(args), prepared(args)]) {
        expect(await value.toNested()).toEqual([[14], [0]]);
        expect(await byX.toNested()).toEqual([[14], [10]]);
      }
    });

    it('of data with several variables add up to the whole', async () => {
      const t = await tensor([[1], [2]], place());
      const [x, y] = [lazyI(t, { name: 'x' }), lazyJ(t, { name: 'y' })];
      const order = lazyI(await tensor([[1], [1]], place()));
      // sum_ij x_i y_j x_1: 9 * 2 at [1, 2], with the derivative 2 * 2 * 3 by each, and 9 by the second as table
      const of = x.mul(y).mul(order.gather(y)).reduction('Sum', 'j');
      const { gradients } = await valueAndGradients(of, { x, y });
      const [byX, byY] = [await gradients.x.toTypedArray(), await gradients.y.toTypedArray()];
      expect([...byX].map((one, at) => one + (byY[at] ?? NaN))).toEqual([12, 21]);
      // The table given as data is that of the first variable.
      expect(
        await (await gradient(x.mul(order.gather(t)).reduction('Sum', 'j'), x, ones(2))).toNested(),
      ).toEqual([[2], [5]]);
    });

    it('leave out indices that are out of range', async () => {
      const t = await tensor([[1], [2], [3]], place());
      const index = lazyI(
        await tensor([[-0.51], [2.49], [2.5], [NaN], [-1], [Infinity], [0.5]], place()),
      );
      const of = index.gather(t).square().reduction('Sum', 'j');
      const { value, gradients } = await valueAndGradients(of, { t: lazyI(t) });
      expect(await value.toNested()).toEqual([[NaN], [9], [NaN], [NaN], [NaN], [NaN], [4]]);
      expect(await gradients.t.toNested()).toEqual([[0], [4], [6]]);
      // Row 2 of the first entry is not row 0 of the second.
      const batch = await tensor(
        [
          [[1], [2]],
          [[3], [4]],
        ],
        place(),
      );
      const beyond = lazyI(await tensor([[2], [1]], place()))
        .gather(batch)
        .reduction('Sum', 'j');
      const found = await gradient(beyond, lazyI(batch), [ones(2), ones(2)]);
      expect(await found.toNested()).toEqual([
        [[0], [1]],
        [[0], [1]],
      ]);
    });

    it('by an index are 0, as those by what is rounded', async () => {
      const labels = lazyI(await tensor([[0], [1]], place()), { name: 'labels' });
      const of = labels
        .gather([[3], [4]])
        .mul(lazyJ([[1]]))
        .reduction('Sum', 'j');
      for (const one of [
        of,
        labels.round().reduction('Sum', 'j'),
        labels.argMin().reduction('Sum', 'j'),
      ]) {
        expect(await (await gradient(one, 'labels', ones(2))).toNested()).toEqual([[0], [0]]);
      }
    });

    it('are 0 where nothing is taken, and for tables without rows', async () => {
      const t = await tensor([[1], [2]], place());
      const none = await tensor(new Float32Array(0), { shape: [0, 1], ...place() });
      for (const [i, j] of [
        [none, t],
        [t, none],
      ] as const) {
        for (const index of [lazyI(i).mul(1), lazyJ(j).mul(1), lazyI(i).add(lazyJ(j))]) {
          const of = index.gather(t).add(lazyI(i)).add(lazyJ(j)).reduction('Sum', 'j');
          const e = await tensor(new Float32Array(i.size).fill(1), {
            shape: [...i.shape],
            ...place(),
          });
          const found = await gradient(of, lazyI(t, { name: 't' }), e);
          // What rows of t are of i or j for themselves adds nothing either, since the other side is empty.
          expect(await found.toNested()).toEqual([[0], [0]]);
        }
      }
      const empty = lazyI([[0]])
        .gather(none)
        .reduction('Sum', 'j');
      expect((await gradient(empty, lazyI(none), ones(1))).shape).toEqual([0, 1]);
    });

    it('of pairs are added up in blocks, also within ranges', async () => {
      const [m, n] = [1500, 3000];
      const bias = await tensor(new Float32Array(m + n - 1), { shape: [m + n - 1, 1], ...place() });
      const x = lazyI(await tensor(new Float32Array(m).fill(1), { shape: [m, 1], ...place() }));
      const y = lazyJ(await tensor(new Float32Array(n).fill(1), { shape: [n, 1], ...place() }));
      const relative = rowNumberI()
        .sub(rowNumberJ())
        .add(n - 1);
      const of = relative.gather(bias).add(x).add(y).reduction('Sum', 'j');
      const found = async (ranges?: RangesOption): Promise<number[]> => {
        const { gradients } = await valueAndGradients(of, { bias: lazyI(bias) }, { ranges });
        return [...(await gradients.bias.toTypedArray())];
      };
      // As many pairs as the diagonal is long.
      const lengths = Array.from({ length: m + n - 1 }, (_, at) =>
        Math.min(at + 1, m + n - 1 - at, m, n),
      );
      expect(await found()).toEqual(lengths);
      const rows = [
        [0, 700],
        [1400, 1500],
      ] as const;
      const columns = [
        [5, 2000],
        [2999, 3000],
      ] as const;
      const wanted = lengths.map(() => 0);
      for (const [place, [first, end]] of rows.entries()) {
        const [from, until] = columns[place] ?? [0, 0];
        for (let i = first; i < end; i++) {
          for (let j = from; j < until; j++) wanted[i - j + n - 1]! += 1;
        }
      }
      const ranges = rangesFromMatrix(rows, columns, [
        [1, 0],
        [0, 1],
      ]);
      expect(await found(ranges)).toEqual(wanted);
    });

    it('take out, ranges and numbers of 16 bits, and keep nothing', async () => {
      const t = await tensor([[1], [2]], { ...place(), dtype: 'bfloat16' });
      const index = lazyJ(await tensor([[1], [0], [1]], { ...place(), dtype: 'float16' }));
      const x = lazyI(await tensor([[1], [2]], place()));
      const of = index.gather(t).mul(x).reduction('Sum', 'j');
      const out = { gradients: { t: await tensor([[-1], [-1]], place()) } };
      const by = { t: lazyI(t) };
      const ranges = rangesFromMatrix(
        [
          [0, 1],
          [1, 2],
        ],
        [
          [0, 1],
          [1, 3],
        ],
        [
          [1, 0],
          [1, 1],
        ],
      );
      const kept = await memoryKept(device(), async () => {
        const { value } = await valueAndGradients(of, by, { out, ranges });
        expect(await out.gradients.t.toNested()).toEqual([[2], [5]]);
        expect(await value.toNested()).toEqual([[2], [10]]);
        value.dispose();
        await device().synchronize();
      });
      expect(kept).toEqual(NOTHING);
    });

    const u = lazyI([[0], [1]], { name: 'u' });
    const w = lazyJ([[0], [1]], { name: 'w' });
    it.each<[string, () => unknown, string, RegExp]>([
      [
        'blocks with an index of pairs',
        () =>
          valueAndGradients(
            u.add(w).gather(u).reduction('Sum', 'j'),
            { u },
            { maxBytes: 1e6, cotangent: ones(2) },
          ),
        'UNSUPPORTED',
        /of u .*changes with i and with j.*have no blocks.*make the index one of i or of j/,
      ],
      [
        'one pass with a variable whose rows are taken by index',
        () => withGradients(u.mul(rowNumberI().gather(u)).reduction('Sum', 'j'), { u }),
        'INVALID_ARGUMENT',
        /rows of u .*taken by index too.*valueAndGradients/,
      ],
      [
        'one pass with a table',
        () => withGradients(u.gather(w).reduction('Sum', 'j'), { w }),
        'INVALID_ARGUMENT',
        /w \(table.*not of i.*valueAndGradients/,
      ],
      [
        'one pass with a table in text',
        () =>
          withGradients(genred('y * Gather(y, x)', ['x = Vi(1)', 'y = Vj(1)']).reduction, {
            y: 'y',
          }),
        'INVALID_ARGUMENT',
        /rows of y .*taken by index too.*valueAndGradients/,
      ],
      [
        'a table that the formula has not',
        () => gradient(u.gather(w).reduction('Sum', 'j'), lazyI([[0], [1]]), ones(2)),
        'INVALID_ARGUMENT',
        /no input of the reduction.*w \(table/,
      ],
      [
        'out of another shape than the table',
        () => {
          const out = empty([3, 1], place());
          return gradient(u.gather(w).reduction('Sum', 'j'), w, ones(2), { out });
        },
        'SHAPE_MISMATCH',
        /shape \[2, 1\]/,
      ],
    ])('refuse %s', async (_, run, code, says) => {
      const error: unknown = await Promise.resolve()
        .then(run)
        .then(
          () => undefined,
          (reason: unknown) => reason,
        );
      expect(error instanceof LazyError || error instanceof MercerError, String(error)).toBe(true);
      expect((error as LazyError).code).toBe(code);
      expect((error as LazyError).message).toMatch(says);
    });
  });
}
