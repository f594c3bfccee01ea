import { defineOp, ops } from '@mercer/formula';
import { empty, tensor, type Device, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import {
  genericArgKMin,
  genericArgMin,
  genericLogSumExp,
  genericSum,
  genred,
  gradient,
  lazyI,
  lazyJ,
  type LazyDType,
  type LazyReduction,
} from '../index.js';
import { numbers, upload, type Numbers } from '../reference.test-support.js';
import {
  D,
  expectNear,
  logSums,
  loops,
  M,
  N,
  softMaxSums,
  squaredDistance,
  sums as sumsOf,
  type Row,
} from './near.test-support.js';

/** Whatever its arguments are. */
interface Described {
  readonly reduction: LazyReduction;
}

/** The tests of KeOps that apply to formulas in text, with asserted tolerances. */
export function describeKeopsFormulas(device: () => Device): void {
  const put = <D extends LazyDType>(data: Numbers, dtype: D): Promise<Tensor<D>> =>
    upload(data, dtype, device());
  const tolerances = { float32: 2e-5, float64: 1e-12 } as const;

  describe('formulas in text', () => {
    const aliases = ['p = Pm(1)', 'a = Vj(1)', 'x = Vi(3)', 'y = Vj(3)'] as const;
    const data = [numbers(1, 1, 1), numbers(2, N, 1), numbers(3, M, D), numbers(4, N, D)] as const;
    const sides = ['parameter', 'j', 'i', 'j'] as const;

    it.each(['float32', 'float64'] as const)(
      'sum, log-sum-exp and softmax in %s',
      async (dtype) => {
        const [p, a, x, y] = await Promise.all(data.map((one) => put(one, dtype)));
        const args = [p!.reshape([1]), a!, x!, y!] as const;
        const sum = genred('Square(p - a) * Exp(x + y)', aliases, { axis: 'j' });
        await expectNear(
          await sum(...args),
          loops(
            data,
            sides,
            ([p0 = NaN] = [], [a0 = NaN] = [], x0 = [], y0 = []) =>
              x0.map((one, k) => (p0 - a0) ** 2 * Math.exp(one + (y0[k] ?? NaN))),
            sumsOf,
          ),
          tolerances[dtype] * 10,
        );
        const text = 'Square(p - a) * Exp(-SqNorm2(x - y))';
        const value = ([p0 = NaN]: Row = [], [a0 = NaN]: Row = [], x0?: Row, y0?: Row): number =>
          (p0 - a0) ** 2 * Math.exp(-squaredDistance(x0, y0));
        const log = genred(text, aliases, { reduction: 'LogSumExp', axis: 1 });
        await expectNear(
          await log(...args),
          loops(data, sides, (...rows) => [value(...rows)], logSums),
          tolerances[dtype],
        );
        const soft = genred(text, aliases, { reduction: 'SoftMax', axis: 1, formula2: 'y' });
        await expectNear(
          await soft(...args),
          loops(data, sides, (...rows) => [value(...rows), ...(rows[3] ?? [])], softMaxSums),
          tolerances[dtype],
        );
      },
    );

    it('takes inputs inside the formula, and others than contiguous ones', async () => {
      const [p, a, x, y] = await Promise.all(data.map((one) => put(one, 'float64')));
      const inline = genred(
        'Square(p - Var(3, 1, 1)) * Exp(x + y)',
        ['p = Pm(1)', 'x = Vi(3)', 'y = Vj(3)'] as readonly string[],
        { axis: 'j' },
      );
      const vector = p!.reshape([1]);
      const found = await inline(vector, x!, y!, a!);
      const plain = genred('Square(p - a) * Exp(x + y)', aliases, { axis: 'j' });
      const wanted = [...(await (await plain(vector, a!, x!, y!)).toTypedArray())];
      expect([...(await found.toTypedArray())]).toEqual(wanted);
      const turned = empty([D, N], { device: device(), dtype: 'float64' }).transpose();
      await turned.copyFrom(y!);
      expect([...(await (await plain(vector, a!, x!, turned)).toTypedArray())]).toEqual(wanted);
    });

    it('keeps the positions of inputs that simplification or differentiation removes', async () => {
      const [, , x, y] = await Promise.all(data.map((one) => put(one, 'float64')));
      // As KeOps' test of the simplification of formulas calls it: nothing of the second derivative is left.
      const twice = genred(
        'Grad(Grad(x + Var(1, 3, 1), x, Var(2, 3, 0)), x, Var(3, 3, 0))',
        ['x = Vi(0, 3)'] as readonly string[],
        { axis: 1 },
      );
      expect(twice.reduction.argumentCount).toBe(4);
      const zero = await twice(x!, y!, x!, x!);
      expect(zero.shape).toEqual([M, D]);
      expect((await zero.toTypedArray()).every((value) => value === 0)).toBe(true);
      const prepared = await twice.prepare(x!, y!, x!, x!);
      expect(await prepared([x!, y!, x!, x!]).toNested()).toEqual(await zero.toNested());
      // Only the last is left, and it is still the last; rows of j are those of the one that is gone.
      const rest = genred(
        'Grad(Var(0, 3, 1) + Var(1, 3, 0), Var(1, 3, 0), Var(2, 3, 0))',
        [] as readonly string[],
        { axis: 'j' },
      );
      const wanted = [...(await x!.toTypedArray())].map((value) => N * value);
      await expectNear(await rest(y!, x!, x!), wanted, 1e-12);
      await expect(rest(y!, x!)).rejects.toThrow(/2 of 3 arguments given/);
      // The same of symbolic matrices.
      const [a, b, e] = [
        lazyI({ position: 0, dim: 3 }),
        lazyJ({ position: 1, dim: 3 }),
        lazyI({ position: 2, dim: 3 }),
      ];
      const slope = a.add(b).grad(a, e).reduction('Sum', 'j');
      expect(slope.argumentCount).toBe(3);
      await expectNear(await slope.call([x!, y!, x!]), wanted, 1e-12);
      expect(() => genred('Var(0, 3, 0) - Var(0, 3, 0) + Var(0, 3, 1)', [])).toThrow(/position/);
    });

    it('may be whole reductions, as the engine of KeOps reads them', async () => {
      const [, , x, y] = await Promise.all(data.map((one) => put(one, 'float64')));
      const names = ['x = Vi(3)', 'y = Vj(3)'] as const;
      const distance = 'SqDist(x, y)';
      const same = (whole: Described, parts: Described): void => {
        expect(whole.reduction.reduction).toEqual(parts.reduction.reduction);
        expect(whole.reduction.argumentCount).toBe(parts.reduction.argumentCount);
      };
      const sum = genred(`Sum_Reduction(${distance}, 0)`, names);
      const total = await sum(x!, y!);
      const wanted = await genred(distance, names, { axis: 'j' })(x!, y!);
      expect(await total.toNested()).toEqual(await wanted.toNested());
      const least = await genred('ArgMin_Reduction(SqDist(x, y), 1)', names)(x!, y!);
      const index = await genred(distance, names, { reduction: 'ArgMin', axis: 'i' })(x!, y!);
      expect(least.dtype).toBe('int32');
      expect(await least.toNested()).toEqual(await index.toNested());
      for (const [text, options] of [
        ['LogSumExp_Reduction(SqDist(x, y), 0)', { reduction: 'LogSumExp', axis: 1 }],
        [
          'LogSumExpWeight_Reduction(SqDist(x, y), 1, x)',
          { reduction: 'LogSumExp', formula2: 'x' },
        ],
        ['SoftMax_Reduction(SqDist(x, y), 0, y)', { reduction: 'SoftMax', axis: 1, formula2: 'y' }],
        ['Max_Reduction(SqDist(x, y), 1)', { reduction: 'Max', axis: 0 }],
        ['Min_ArgMin_Reduction(SqDist(x, y), 0)', { reduction: 'MinArgMin', axis: 'j' }],
        ['KMin_Reduction(SqDist(x, y), 3, 0)', { reduction: 'KMin', axis: 'j', k: 3 }],
        ['ArgKMin_Reduction(SqDist(x, y), 2, 1)', { reduction: 'ArgKMin', axis: 'i', k: 2 }],
        ['d = x - y; Sum_Reduction(SqNorm2(d), 0)', { axis: 'j' }],
      ] as const) {
        const spaced = text.replace('_Reduction(', '_Reduction (');
        for (const whole of [text, spaced]) {
          same(genred(whole, names), genred(distance, names, options));
        }
      }
      const both = genred('KMin_ArgKMin_Reduction(SqDist(x, y), 2, 0)', names);
      const { values, indices } = await both(x!, y!);
      expect([values.shape, indices.dtype]).toEqual([[M, 2], 'int32']);
      // A gradient of a sum is one: by x, of ones.
      const slope = genred(
        'Grad(Sum_Reduction(SqDist(x, y), 0), x, Var(2, 1, 0))',
        names as readonly string[],
      );
      const ones = await put(
        { batch: [], rows: M, dim: 1, values: new Float64Array(M).fill(1) },
        'float64',
      );
      const byX = genred('2 * (x - y)', names, { axis: 'j' });
      await expectNear(await slope(x!, y!, ones), await (await byX(x!, y!)).toTypedArray(), 1e-12);
      expect(() => genred('Sum_Reduction(x, 0)', names, { axis: 'j' })).toThrow(
        /axis is "j".*whole reduction/,
      );
      expect(() => genred('Max_Reduction(x, 0)', names, { reduction: 'Sum' as never })).toThrow(
        /reduction is "Sum"/,
      );
      expect(() => genred('Som_Reduction(x, 0)', names)).toThrow(/Did you mean "Sum_Reduction"/);
      expect(() => genred('Sum_Reduction(x, 0) + 1', names)).toThrow(
        /expected an operator or the end/,
      );
    });

    it('differentiates inside the formula: second derivatives of a sum vanish exactly', async () => {
      const zero = genred(
        'Grad(Grad(x + y, x, e), x, f)',
        ['x = Vi(3)', 'y = Vj(3)', 'e = Vi(3)', 'f = Vi(3)'],
        { axis: 'j' },
      );
      const [x, y] = [await put(data[2], 'float32'), await put(data[3], 'float32')];
      expect(new Set(await (await zero(x, y, x, x)).toTypedArray())).toEqual(new Set([0]));
    });

    it('finds neighbours, as sorting does', async () => {
      const [x, y] = [numbers(5, M, D), numbers(6, 40, D)];
      const near = genericArgKMin('SqDist(x, y)', 'a = Vi(3)', ['x = Vi(3)', 'y = Vj(3)']);
      const found = await (await near(await put(x, 'float32'), await put(y, 'float32'))).toNested();
      const wanted = Array.from({ length: M }, (_, i) => {
        const distance = (j: number): number =>
          [0, 1, 2].reduce(
            (sum, c) => sum + ((x.values[3 * i + c] ?? NaN) - (y.values[3 * j + c] ?? NaN)) ** 2,
            0,
          );
        return Array.from({ length: 40 }, (_, j) => j)
          .sort((a, b) => distance(a) - distance(b))
          .slice(0, 3);
      });
      expect(found).toEqual(wanted);
      const nearest = genericArgMin('SqDist(x, y)', 'a = Vi(1)', ['x = Vi(3)', 'y = Vj(3)']);
      const first = await (
        await nearest(await put(x, 'float32'), await put(y, 'float32'))
      ).toNested();
      expect(first).toEqual(wanted.map(([index]) => [index]));
    });

    it('sums products of inner products and components', async () => {
      const some = [numbers(7, M, 3), numbers(8, N, 3), numbers(9, 1, 2)] as const;
      const f = genericSum('Pow((X | Y), 2) * (Elem(P, 0) * X + Elem(P, 1) * Y)', 'a = Vi(3)', [
        'X = Vi(3)',
        'Y = Vj(3)',
        'P = Pm(2)',
      ]);
      const [x, y, p] = await Promise.all(some.map((one) => put(one, 'float64')));
      const wanted = loops(
        some,
        ['i', 'j', 'parameter'],
        (X = [], Y = [], [p0 = NaN, p1 = NaN] = []) => {
          const product = X.reduce((sum, one, k) => sum + one * (Y[k] ?? NaN), 0);
          return X.map((one, k) => product ** 2 * (p0 * one + p1 * (Y[k] ?? NaN)));
        },
        sumsOf,
      );
      await expectNear(await f(x!, y!, p!.reshape([2])), wanted, 1e-12);
    });

    it.each<[string, string, (scaled: number) => number]>([
      ['gaussian', '-SqDist(x, y) / s', (q) => -q],
      ['laplacian', '-Sqrt(SqDist(x, y) / s)', (q) => -Math.sqrt(q)],
      ['cauchy', 'Log(Inv(1 + SqDist(x, y) / s))', (q) => -Math.log1p(q)],
      ['inverse multiquadric', '-0.5 * Log(1 + SqDist(x, y) / s)', (q) => -0.5 * Math.log1p(q)],
    ])('weights a log-sum-exp with a %s kernel, over either side', async (_, text, kernel) => {
      const some = [
        numbers(1, M, D),
        numbers(2, N, D),
        numbers(3, 1, 1, { low: 0.5 }),
        numbers(4, N, 1),
      ] as const;
      const names = ['x = Vi(3)', 'y = Vj(3)', 's = Pm(1)', 'g = Vj(1)'];
      const f = genericLogSumExp(text, 'a = Vi(1)', names, { formula2: 'Exp(g)' });
      const [x, y, s, g] = await Promise.all(some.map((one) => put(one, 'float64')));
      const found = await f(x!, y!, s!.reshape([1]), g!);
      const wanted = loops(
        some,
        ['i', 'j', 'parameter', 'j'],
        (x0, y0, [scale = NaN] = [], [weight = NaN] = []) => [
          kernel(squaredDistance(x0, y0) / scale),
          Math.exp(weight),
        ],
        logSums,
      );
      await expectNear(found, wanted, 1e-12);
    });

    it('has gradients by the names of its arguments', async () => {
      const some = [numbers(1, M, 1), numbers(2, N, 1), numbers(3, 1, 2)] as const;
      const names = ['x = Vi(1)', 'y = Vj(1)', 'P = Pm(2)'] as const;
      const f = genericLogSumExp('Elem(P, 0) * x + Elem(P, 1) * y', 'a = Vi(1)', names);
      const [x, y, p] = await Promise.all(some.map((one) => put(one, 'float64')));
      const of = f.reduction.bind([x!, y!, p!.reshape([2])]);
      const ones = await tensor(new Float64Array(M).fill(1), { shape: [M, 1], device: device() });
      // log sum_j e^(p0 x + p1 y_j) is p0 x and a term without x; the shares of the y_j add up to 1.
      const [p0 = NaN, p1 = NaN] = some[2].values;
      const byX = await gradient(of, 'x', ones);
      await expectNear(byX, new Float64Array(M).fill(p0), 1e-12);
      const byY = Float64Array.from(await (await gradient(of, 'y', ones)).toTypedArray());
      expect(Math.abs(byY.reduce((sum, value) => sum + value, 0) - M * p1)).toBeLessThan(1e-12);
      expect((await gradient(of, 'P', ones)).shape).toEqual([2]);
      await expect(gradient(of, 'z', ones)).rejects.toThrow(/z is no input/);
      await expect(gradient(f.reduction, 'x', ones)).rejects.toThrow(/has no data yet/);
    });

    it('weights a log-sum-exp over i', async () => {
      const some = [numbers(1, M, D), numbers(2, N, D), numbers(4, M, 2, { low: 0.1 })] as const;
      const f = genred('-SqDist(x, y)', ['x = Vi(3)', 'y = Vj(3)', 'g = Vi(2)'], {
        reduction: 'LogSumExp',
        axis: 0,
        formula2: 'g',
      });
      const [x, y, g] = await Promise.all(some.map((one) => put(one, 'float32')));
      const term = (x0?: Row, y0?: Row, w: Row = []): Row => [-squaredDistance(x0, y0), ...w];
      const wanted = loops(some, ['i', 'j', 'i'], term, logSums, 'i');
      await expectNear(await f(x!, y!, g!), wanted, 2e-5);
    });

    it('computes a formula without rows of j', async () => {
      const f = genred('Rsqrt(x)', ['x = Vi(1)'], { axis: 'j' });
      const found = await f([[4], [0], [0.25]], { device: device() });
      expect(await found.toNested()).toEqual([[0.5], [0], [2]]);
    });

    it('reduces the smoke test of the installation', async () => {
      const f = genred('SqNorm2(x - y)', ['x = Vi(3)', 'y = Vj(3)']);
      const found = await f(
        [
          [1, 2, 3],
          [4, 5, 6],
          [7, 8, 9],
        ],
        [
          [3, 4, 5],
          [6, 7, 8],
        ],
        { device: device() },
      );
      expect(await found.toNested()).toEqual([[63], [90]]);
    });

    it('calls operations of defineOp, which are methods and have gradients too', async () => {
      const swish = defineOp('Swish', ['x', 'beta'], ({ x, beta }) =>
        ops.mul(x, ops.logistic(ops.mul(beta, x))),
      );
      const one = (t: number): number => t / (1 + Math.exp(-2 * t));
      const slope = (t: number): number =>
        1 / (1 + Math.exp(-2 * t)) + (t * 2 * Math.exp(-2 * t)) / (1 + Math.exp(-2 * t)) ** 2;
      const data = [numbers(1, M, 1), numbers(2, N, 1)] as const;
      const [x, y] = await Promise.all(data.map((some) => put(some, 'float64')));
      const names = ['x = Vi(1)', 'y = Vj(1)'] as const;
      const axis = { axis: 'j', operations: [swish] } as const;
      const f = genred('Swish(x - y, 2)', names, axis);
      const [X, Y] = data.map(({ values }) => [...values]);
      const sums = (of: (t: number) => number): number[] =>
        X!.map((a) => Y!.reduce((sum, b) => sum + of(a - b), 0));
      await expectNear(await f(x!, y!), sums(one), 1e-12);
      const g = genred('Grad(Swish(x - y, 2), x, 1)', names, axis);
      await expectNear(await g(x!, y!), sums(slope), 1e-12);
      const method = lazyI(x!).sub(lazyJ(y!)).operation(swish, 2);
      expect(await (await method.sum('j')).toNested()).toEqual(await (await f(x!, y!)).toNested());
      expect(() => method.operation(swish)).toThrow(/Swish.*takes 2 argument.*got 1/);
      expect(() => genred('Swish(x - y, 2)', names)).toThrow(/no operation "Swish"/);
    });

    it('is prepared once and called with other sizes', async () => {
      const f = genred('SqNorm2(x - y)', ['x = Vi(3)', 'y = Vj(3)'], { axis: 'j' });
      const [x, y] = [numbers(1, M, D), numbers(2, N, D)];
      const [a, b] = [await put(x, 'float32'), await put(y, 'float32')];
      const call = await f.prepare(a, b);
      expect(call.plan.summary).toMatch(/map-reduce/);
      const wanted = (rows: Numbers): number[] =>
        loops([rows, y], ['i', 'j'], (x0, y0) => [squaredDistance(x0, y0)], sumsOf);
      await expectNear(call([a, b]), wanted(x), 2e-5);
      const other = numbers(3, 17, D, { batch: [2] });
      const out = empty([2, 17, 1], { device: device() });
      expect(call([await put(other, 'float32'), b], { out })).toBe(out);
      await expectNear(out, wanted(other), 2e-5);
      const wide = await put(numbers(1, M, 4), 'float32');
      expect(() => call([wide, b])).toThrow(/declares dim 3/);
      expect(() =>
        call([a.transpose().slice([0, 3]).transpose(), b.slice(null, [null, null, -1])]),
      ).toThrow(/strides/);
    });
  });
}
