import { describe, expect, it } from 'vitest';
import {
  evaluateReduction,
  evaluateVector,
  inputsOf,
  kindOf,
  ops,
  outputsOf,
  parseReduction,
  pm,
  printReduction,
  reduction,
  REDUCTION_KINDS,
  reductionGradient,
  reductionOf,
  REDUCTION_NAMES,
  reductionTangent,
  traitsOf,
  vi,
  vj,
  type Reduction,
  type VariableNode,
} from '../../index.js';
import { randomNumbers, slopeAtZero } from '../testing/numbers.test-support.js';

const [x, y, p, w] = [vi(0, 2), vj(1, 2), pm(2, 1), vj(3, 3)];
const F = ops.mul(p, ops.sqDist(x, y));
const V = ops.mul(ops.sin(x), y);
const ROWS = { rowsI: 3, rowsJ: 5 };
const ALIASES = { x, y, p, w };

const random = randomNumbers(9);
const numbers = (count: number): number[] => Array.from({ length: count }, () => 2 * random() - 1);
const DATA: readonly number[][] = [numbers(6), numbers(10), [0.7], numbers(15).map((n) => n + 1.5)];

/** The values of F or V at one pair, written out. */
const pair = (i: number, j: number): number[] =>
  [2 * i, 2 * i + 1].map((at, k) => DATA[0]![at]! - DATA[1]![2 * j + k]!);
const f = (i: number, j: number): number => 0.7 * pair(i, j).reduce((s, d) => s + d * d, 0);
const v = (i: number, j: number, k: number): number =>
  Math.sin(DATA[0]![2 * i + k]!) * DATA[1]![2 * j + k]!;
const js = [0, 1, 2, 3, 4];
const is = [0, 1, 2];
const run = (r: Reduction): readonly number[] => [
  ...(evaluateReduction(r, DATA, ROWS).value ?? []),
];
const close = (got: readonly number[], wanted: readonly number[]): void => {
  expect(got.length).toBe(wanted.length);
  for (const [k, one] of wanted.entries()) expect(got[k]).toBeCloseTo(one, 11);
};
const total = (values: readonly number[]): number => values.reduce((s, n) => s + n, 0);

describe('reductions', () => {
  it('sum over j for axis 1 and over i for axis 0', () => {
    close(
      run(reduction('Sum', F)),
      is.map((i) => total(js.map((j) => f(i, j)))),
    );
    close(
      run(reduction('Sum', F, { axis: 0 })),
      js.map((j) => total(is.map((i) => f(i, j)))),
    );
    close(
      run(reduction('Sum', V)),
      is.flatMap((i) => [0, 1].map((k) => total(js.map((j) => v(i, j, k))))),
    );
  });

  it('are the same by options and in order', () => {
    expect(reductionOf('Sum', F, 0, undefined, undefined)).toEqual(
      reduction('Sum', F, { axis: 0 }),
    );
    expect(reductionOf('LogSumExp', F, 1, w, undefined)).toEqual(
      reduction('LogSumExp', F, { weight: w }),
    );
    const nearest = reductionOf('ArgKMin', F, 1, undefined, 2);
    expect(nearest).toEqual(reduction('ArgKMin', F, { k: 2 }));
    expect(() => reductionOf('ArgKMin', F, 1, undefined, undefined)).toThrow('ArgKMin needs k');
  });

  it('weigh exponentials', () => {
    const weight = (j: number, k: number): number => DATA[3]![3 * j + k]!;
    const sums = (i: number, k: number): number =>
      total(js.map((j) => Math.exp(f(i, j)) * weight(j, k)));
    const plain = (i: number): number => total(js.map((j) => Math.exp(f(i, j))));
    close(
      run(reduction('LogSumExp', F)),
      is.map((i) => Math.log(plain(i))),
    );
    close(
      run(reduction('LogSumExp', F, { weight: w })),
      is.flatMap((i) => [0, 1, 2].map((k) => Math.log(sums(i, k)))),
    );
    close(
      run(reduction('SumSoftMaxWeight', F, { weight: w })),
      is.flatMap((i) => [0, 1, 2].map((k) => sums(i, k) / plain(i))),
    );
    const top = (i: number): number => Math.max(...js.map((j) => f(i, j)));
    close(
      run(reduction('MaxSumShiftExp', F)),
      is.flatMap((i) => [top(i), plain(i) / Math.exp(top(i))]),
    );
  });

  it('find extrema, of each component', () => {
    const column = (i: number, k: number): number[] => js.map((j) => v(i, j, k));
    const both = (g: (column: number[]) => number): number[] =>
      is.flatMap((i) => [0, 1].map((k) => g(column(i, k))));
    close(
      run(reduction('Min', V)),
      both((c) => Math.min(...c)),
    );
    close(
      run(reduction('Max', V)),
      both((c) => Math.max(...c)),
    );
    const least = evaluateReduction(reduction('MinArgMin', V), DATA, ROWS);
    expect([...least.index!]).toEqual(both((c) => c.indexOf(Math.min(...c))));
    const sorted = (i: number, k: number): number[] => column(i, k).sort((a, b) => a - b);
    close(
      run(reduction('KMin', V, { k: 2 })),
      is.flatMap((i) => [0, 1].flatMap((r) => [0, 1].map((k) => sorted(i, k)[r]!))),
    );
    close(
      run(reduction('KMax', V, { k: 2 })),
      is.flatMap((i) => [0, 1].flatMap((r) => [0, 1].map((k) => sorted(i, k)[4 - r]!))),
    );
    const nearest = evaluateReduction(reduction('ArgKMin', F, { k: 3 }), DATA, ROWS).index!;
    const wanted = is.flatMap((i) => [...js].sort((a, b) => f(i, a) - f(i, b)).slice(0, 3));
    expect([...nearest]).toEqual(wanted);
  });

  it('count, multiply and average', () => {
    const g = ops.lessThan(F, 1);
    close(
      run(reduction('Count', g)),
      is.map((i) => js.filter((j) => f(i, j) < 1).length),
    );
    close(
      run(reduction('Any', g)),
      is.map((i) => Number(js.some((j) => f(i, j) < 1))),
    );
    close(
      run(reduction('All', g)),
      is.map((i) => Number(js.every((j) => f(i, j) < 1))),
    );
    close(
      run(reduction('Prod', F)),
      is.map((i) => js.reduce((q, j) => q * f(i, j), 1)),
    );
    close(
      run(reduction('Mean', F)),
      is.map((i) => total(js.map((j) => f(i, j))) / 5),
    );
    const mean = (i: number): number => total(js.map((j) => f(i, j))) / 5;
    close(
      run(reduction('Var', F)),
      is.map((i) => total(js.map((j) => (f(i, j) - mean(i)) ** 2)) / 5),
    );
  });

  it('treat NaN, ties, infinities and emptiness as documented', () => {
    const one = vj(0, 1);
    const of = (
      r: Reduction,
      values: readonly number[],
    ): { value?: number[]; index?: number[] } => {
      const { value, index } = evaluateReduction(r, [values], { rowsI: 1, rowsJ: values.length });
      return { ...(value && { value: [...value] }), ...(index && { index: [...index] }) };
    };
    const r = (kind: Reduction['kind'], k?: number): Reduction =>
      reduction(kind, one, k === undefined ? {} : { k });
    expect(of(r('MinArgMin'), [2, NaN, 1, NaN])).toEqual({ value: [NaN], index: [1] });
    expect(of(r('MaxArgMax'), [3, 1, 3])).toEqual({ value: [3], index: [0] });
    expect(of(r('KMinArgKMin', 4), [2, NaN, 1])).toEqual({
      value: [1, 2, NaN, Infinity],
      index: [2, 0, 1, -1],
    });
    expect(of(r('KMaxArgKMax', 3), [2, 5])).toEqual({
      value: [5, 2, -Infinity],
      index: [1, 0, -1],
    });
    expect(of(r('Min'), [])).toEqual({ value: [Infinity] });
    expect(of(r('ArgMin'), [])).toEqual({ index: [-1] });
    expect(of(r('Max'), [])).toEqual({ value: [-Infinity] });
    expect(of(r('Sum'), [])).toEqual({ value: [0] });
    expect(of(r('Prod'), [])).toEqual({ value: [1] });
    expect(of(r('LogSumExp'), [])).toEqual({ value: [-Infinity] });
    expect(of(r('LogSumExp'), [-Infinity, -Infinity])).toEqual({ value: [-Infinity] });
    expect(of(r('LogSumExp'), [Infinity, 1])).toEqual({ value: [Infinity] });
    expect(of(r('LogSumExp'), [1000, 1000])).toEqual({ value: [1000 + Math.log(2)] });
    expect(of(reduction('LogSumExp', one, { weight: -1 }), [0])).toEqual({ value: [NaN] });
  });

  it('are what their names say', () => {
    for (const kind of REDUCTION_KINDS) {
      const isExtremum = /Min|Max(?!Sum)/.test(kind) && kind !== 'SumSoftMaxWeight';
      expect(traitsOf(kind), kind).toEqual({
        outputs: [
          ...(kind.startsWith('Arg') ? [] : ['value']),
          ...(kind.includes('Arg') ? ['index'] : []),
        ],
        isExponential: /Exp|SoftMax/.test(kind),
        weight: { LogSumExp: 'optional', MaxSumShiftExp: 'optional', SumSoftMaxWeight: 'required' }[
          kind as string
        ],
        takesK: kind.includes('K'),
        extremum: isExtremum ? (kind.includes('Min') ? 'least' : 'largest') : undefined,
      });
    }
  });

  it('are found by KeOps names too', () => {
    expect(REDUCTION_KINDS.map(kindOf)).toEqual(REDUCTION_KINDS);
    expect([kindOf('SoftMax'), kindOf('KMin_ArgKMin')]).toEqual([
      'SumSoftMaxWeight',
      'KMinArgKMin',
    ]);
    expect(REDUCTION_NAMES.every((name) => kindOf(name) !== undefined)).toBe(true);
    expect([kindOf('Sums'), kindOf('toString')]).toEqual([undefined, undefined]);
  });

  it('tell the dims of their results', () => {
    const dims = (r: Reduction): string =>
      outputsOf(r)
        .map(({ name, dim }) => `${name} ${dim}`)
        .join(', ');
    expect(dims(reduction('Sum', V))).toBe('value 2');
    expect(dims(reduction('LogSumExp', F, { weight: w }))).toBe('value 3');
    expect(dims(reduction('MaxSumShiftExp', F, { weight: w }))).toBe('value 4');
    expect(dims(reduction('KMinArgKMin', V, { k: 4 }))).toBe('value 8, index 8');
    for (const kind of REDUCTION_KINDS) {
      const k = traitsOf(kind).takesK ? { k: 2 } : {};
      const weight = kind === 'SumSoftMaxWeight' ? { weight: w } : {};
      const r = reduction(kind, F, { ...k, ...weight });
      const values = evaluateReduction(r, DATA, ROWS);
      for (const { name, dim } of outputsOf(r)) expect(values[name]!.length, kind).toBe(3 * dim);
      const text = printReduction(r, { names: ALIASES });
      expect(parseReduction(text, ALIASES)).toEqual(r);
    }
  });
});

describe('gradients of reductions', () => {
  /** Data with the seed at 4, the saved results at 5 and on, the direction at 8. */
  function withResults(r: Reduction, by: VariableNode, saved: readonly Reduction[]): number[][] {
    const kept = r.axis === 1 ? ROWS.rowsI : ROWS.rowsJ;
    const data = [...DATA.map((rows) => [...rows])];
    data[4] = numbers(kept * outputsOf(r)[0]!.dim);
    for (const [k, one] of saved.entries()) {
      const { value, index } = evaluateReduction(one, DATA, ROWS);
      data[5 + 2 * k] = [...(value ?? [])];
      data[6 + 2 * k] = [...(index ?? [])];
    }
    data[8] = numbers(DATA[by.position]!.length);
    return data;
  }

  const lse = reduction('LogSumExp', F);
  const CASES: readonly (readonly [string, Reduction, readonly Reduction[]])[] = [
    ['Sum', reduction('Sum', V), []],
    ['Sum over i', reduction('Sum', V, { axis: 0 }), []],
    ['LogSumExp', lse, [lse]],
    [
      'LogSumExp over i',
      reduction('LogSumExp', F, { axis: 0 }),
      [reduction('LogSumExp', F, { axis: 0 })],
    ],
    [
      'weighted LogSumExp',
      reduction('LogSumExp', F, { weight: w }),
      [reduction('LogSumExp', F, { weight: w })],
    ],
    [
      'SumSoftMaxWeight',
      reduction('SumSoftMaxWeight', F, { weight: w }),
      [reduction('SumSoftMaxWeight', F, { weight: w }), lse],
    ],
    ['Mean', reduction('Mean', V), []],
    ['Mean over i', reduction('Mean', V, { axis: 0 }), []],
    ['Var', reduction('Var', F), [reduction('Mean', F)]],
    ['Var over i', reduction('Var', V, { axis: 0 }), [reduction('Mean', V, { axis: 0 })]],
    [
      'Prod',
      reduction('Prod', V),
      [reduction('Prod', ops.where(ops.equal(V, 0), 1, V)), reduction('Count', ops.equal(V, 0))],
    ],
    ['Min', reduction('Min', V), [reduction('MinArgMin', V)]],
    ['Max over i', reduction('Max', V, { axis: 0 }), [reduction('MaxArgMax', V, { axis: 0 })]],
    ['KMin', reduction('KMin', V, { k: 3 }), [reduction('KMinArgKMin', V, { k: 3 })]],
    ['KMax', reduction('KMax', F, { k: 2 }), [reduction('KMaxArgKMax', F, { k: 2 })]],
  ];

  it.each(CASES)(
    '%s agrees with finite differences by every input, in both modes',
    (_, r, saved) => {
      const kept = r.axis === 1 ? vi : vj;
      const { dim } = outputsOf(r)[0]!;
      const seed = kept(4, dim);
      for (const by of inputsOf(r.formula, ...(r.weight ? [r.weight] : []))) {
        const data = withResults(r, by, saved);
        const results = {
          value: kept(5, dim),
          index: kept(6, dim),
          logSumExp: kept(7, 1),
          count: r.axis === 1 ? ROWS.rowsJ : ROWS.rowsI,
          mean: kept(5, dim),
          product: kept(5, dim),
          zeros: kept(7, dim),
        };
        const moved = (t: number): number => {
          const at = data.map((rows, k) =>
            k === by.position ? rows.map((n, c) => n + t * data[8]![c]!) : rows,
          );
          const { value } = evaluateReduction(r, at, ROWS);
          return total([...value!].map((n, k) => n * data[4]![k]!));
        };
        const wanted = slopeAtZero(moved, 0.001);
        const gradient = reductionGradient(r, by, seed, results);
        const rows = [...evaluateReduction(gradient.reduction, data, ROWS).value!];
        expect(gradient.sumRows).toBe(by.category === 'parameter');
        const whole = gradient.sumRows ? [total(rows)] : rows;
        expect(whole.length).toBe(data[8]!.length);
        expect(total(whole.map((n, k) => n * data[8]![k]!))).toBeCloseTo(wanted, 7);

        const direction =
          by.category === 'i' ? vi(8, by.dim) : by.category === 'j' ? vj(8, by.dim) : pm(8, by.dim);
        const tangent = evaluateReduction(
          reductionTangent(r, by, direction, results),
          data,
          ROWS,
        ).value!;
        expect(total([...tangent].map((n, k) => n * data[4]![k]!))).toBeCloseTo(wanted, 7);
      }
    },
  );

  it('nothing at all where a LogSumExp had no terms', () => {
    const empty = reduction('LogSumExp', ops.add(F, -Infinity));
    const gradient = reductionGradient(empty, x, vi(4, 1), { value: vi(5, 1) }).reduction.formula;
    const data = [[1, 2], [3, 4], [1], [], [1], [-Infinity]];
    expect([...evaluateVector(gradient, data)].map((n) => n + 0)).toEqual([0, 0]);
  });

  it.each([
    [
      [2, 3, 4],
      [12, 8, 6],
    ],
    [
      [2, 0, 3],
      [0, 6, 0],
    ],
    [
      [2, 0, 0],
      [0, 0, 0],
    ],
    [
      [0, NaN, 1],
      [NaN, 0, 0],
    ],
  ])('a product of %j has the derivative %j', (terms, wanted) => {
    const term = vj(0, 1);
    const of = reduction('Prod', term);
    const saved = { product: vi(2, 1), zeros: vi(3, 1) };
    const { reduction: gradient } = reductionGradient(of, term, vi(1, 1), saved);
    const others = terms.filter((n) => n !== 0).reduce((product, n) => product * n, 1);
    const data = [terms, [1], [others], [terms.filter((n) => n === 0).length]];
    const { value } = evaluateReduction(gradient, data, { rowsI: 1, rowsJ: 3 });
    expect([...value!].map((n) => n + 0)).toEqual(wanted);
  });

  it('reads derivatives with a saved result as KeOps writes them', () => {
    const text = parseReduction(
      'Grad_WithSavedForward(LogSumExp_Reduction(SqDist(x, y), 0), y, Vi(3, 1), Vi(4, 1))',
      ALIASES,
    );
    const sums = reduction('LogSumExp', ops.sqDist(x, y));
    expect(text).toEqual(reductionGradient(sums, y, vi(3, 1), { value: vi(4, 1) }).reduction);
    const moved = parseReduction(
      'Diff_WithSavedForward(Min_Reduction(SqDist(x, y), 0), x, Vi(3, 2), Vi(4, 1))',
      ALIASES,
    );
    const least = reduction('Min', ops.sqDist(x, y));
    expect(moved).toEqual(reductionTangent(least, x, vi(3, 2), { index: vi(4, 1) }));
    expect(parseReduction('Diff(Sum_Reduction(SqDist(x, y), 0), x, Vi(3, 2))', ALIASES)).toEqual(
      reductionTangent(reduction('Sum', ops.sqDist(x, y)), x, vi(3, 2)),
    );
  });

  it('reads Grad of a sum as KeOps writes it', () => {
    const text = parseReduction('Grad(Sum_Reduction(SqDist(x, y), 0), y, p)', ALIASES);
    expect(text).toEqual(reductionGradient(reduction('Sum', ops.sqDist(x, y)), y, p).reduction);
    expect(text.axis).toBe(0);
  });
});
