import { evaluate, variable } from '@mercer/formula';
import { describe, expect, test } from 'vitest';
import { runCudaProgram, type Memory } from '../testing/cuda-emulator.test-support.js';
import { H200 } from '../testing/h200.test-support.js';
import { emitReduce } from './cuda-reduce.js';
import {
  isSpread,
  planReduce,
  type PlannedReduce,
  type ReduceKind,
  type ReduceProblem,
} from './plan-reduce.js';
import { reduceProblems } from './reduce-problems.test-support.js';

const product = (extents: readonly number[]): number => extents.reduce((a, b) => a * b, 1);

/** Where the element of an index lies, strides in elements. */
const dot = (index: readonly number[], strides: readonly number[]): number =>
  index.reduce((sum, i, axis) => sum + i * (strides[axis] ?? 0), 0);

const indexAt = (flat: number, extents: readonly number[]): number[] => {
  let rest = flat;
  return extents
    .toReversed()
    .map((extent) => {
      const i = rest % extent;
      rest = (rest - i) / extent;
      return i;
    })
    .toReversed();
};

type Data = Readonly<Record<string, { readonly values: Memory; readonly start: number }>>;

/** Elements for every input, over the memory that its strides reach. */
function dataFor({ kept, reduced, inputs }: ReduceProblem, fill: (i: number) => number): Data {
  return Object.fromEntries(
    inputs.map(({ name, dtype, keptStrides, reducedStrides }) => {
      const ends = [...keptStrides, ...reducedStrides].map(
        (stride, axis) => stride * (([...kept, ...reduced][axis] ?? 1) - 1),
      );
      const least = ends.reduce((sum, end) => sum + Math.min(0, end), 0);
      const most = ends.reduce((sum, end) => sum + Math.max(0, end), 0);
      const make =
        dtype === 'float64' ? Float64Array : dtype === 'int32' ? Int32Array : Float32Array;
      const values = new make(most - least + 1).map((_, i) => fill(i));
      return [name, { values, start: -least }];
    }),
  );
}

/** The terms of every result, in float64. */
function termsOf(
  { expr, kept, reduced, inputs, parameters }: ReduceProblem,
  data: Data,
): number[][] {
  return Array.from({ length: product(kept) }, (_, o) =>
    Array.from({ length: product(reduced) }, (__, j) => {
      const bound = inputs.map(({ name, keptStrides, reducedStrides }) => {
        const at = dot(indexAt(o, kept), keptStrides) + dot(indexAt(j, reduced), reducedStrides);
        const { values, start } = data[name]!;
        return [name, Number(values[start + at])] as const;
      });
      return evaluate(expr, { ...parameters, ...Object.fromEntries(bound) });
    }),
  );
}

/** A figure of terms, computed once for all places. */
function once(of: (terms: readonly number[]) => number): (terms: readonly number[]) => number {
  const known = new WeakMap<readonly number[], number>();
  return (terms) => {
    const found = known.get(terms) ?? of(terms);
    known.set(terms, found);
    return found;
  };
}

/** The result, or one for each term. */
const MEANING: {
  readonly [K in ReduceKind]: (terms: readonly number[], at?: number) => number;
} = {
  sum: (terms) => terms.reduce((a, b) => a + b, 0),
  prod: (terms) => terms.reduce((a, b) => a * b, 1),
  min: (terms) => terms.reduce((a, b) => Math.min(a, b), Infinity),
  max: (terms) => terms.reduce((a, b) => Math.max(a, b), -Infinity),
  argMin: (terms) => firstPlace(terms, MEANING.min(terms)),
  argMax: (terms) => firstPlace(terms, MEANING.max(terms)),
  any: (terms) => Number(terms.some((term) => term !== 0)),
  all: (terms) => Number(terms.every((term) => term !== 0)),
  logSumExp: once((terms) => {
    const most = MEANING.max(terms);
    return most + Math.log(terms.reduce((sum, term) => sum + Math.exp(term - most), 0));
  }),
  softmax: (terms, at = 0) => Math.exp((terms[at] ?? NaN) - MEANING.logSumExp(terms)),
  logSoftmax: (terms, at = 0) => (terms[at] ?? NaN) - MEANING.logSumExp(terms),
};

/** Object.is, so that NaN is found. */
const firstPlace = (terms: readonly number[], wanted: number): number =>
  terms.findIndex((term) => Object.is(term + 0, wanted + 0));

const isExponential = (kind: ReduceKind): boolean => kind === 'logSumExp' || isSpread(kind);

const size = once((terms) => Math.abs(MEANING.max(terms)) + Math.abs(MEANING.min(terms)));

/** Terms are rounded to the dtype, which their exponentials multiply; those are within (4 + 2 |s|) u, and their sum in float64 as they are. */
function exponentialBound(
  kind: ReduceKind,
  terms: readonly number[],
  wanted: number,
  u: number,
): number {
  const relative = (8 + 4 * size(terms)) * u;
  return kind === 'softmax' ? relative * wanted + 2 ** -126 : relative;
}

function run(problem: ReduceProblem, data: Data): { out: Memory; planned: PlannedReduce } {
  const planned = planReduce(problem, H200);
  const { kind, computesIn, kept, reduced } = problem;
  const outputs = product(kept) * (isSpread(kind) ? product(reduced) : 1);
  const out = kind.startsWith('arg')
    ? new Int32Array(outputs)
    : kind === 'any' || kind === 'all'
      ? new Uint8Array(outputs)
      : computesIn === 'float64'
        ? new Float64Array(outputs)
        : new Float32Array(outputs);
  const pointers: Record<string, Memory> = { out };
  for (const [k, place] of planned.inputs.entries()) {
    const { values, start } = data[problem.inputs[place]!.name]!;
    pointers[`x${k}`] = values.subarray(start);
  }
  runCudaProgram(emitReduce(planned.plan), { scalars: planned.scalars, pointers });
  return { out, planned };
}

/** Every part has an extreme of its own, and zeros and truths beside each other. */
const spread = (i: number): number => ((i * 7919) % 1009) - 300;

/** Every kind with some shapes and every shape with some kinds; with MERCER_TEST_FULL=1 all of both. */
const isTried =
  (dtype: 'float32' | 'float64') =>
  (_: ReduceProblem, at: number): boolean =>
    process.env['MERCER_TEST_FULL'] === '1' || (dtype === 'float32' ? at % 9 < 3 : at % 9 === 5);

describe('reductions over axes', () => {
  for (const dtype of ['float32', 'float64'] as const) {
    const forms = new Set<string>();
    for (const problem of reduceProblems(dtype).filter(isTried(dtype))) {
      const { kind, kept, reduced } = problem;
      test(`${kind} of ${dtype} over [${reduced.join(', ')}] for [${kept.join(', ')}]`, () => {
        const only = kind === 'any' || kind === 'all';
        const data = dataFor(
          problem,
          only ? (i) => Number(i % 977 === (kind === 'any' ? 3 : 9)) : spread,
        );
        const { out, planned } = run(problem, data);
        const { results, threads, parts } = planned.plan;
        forms.add(`${results} of ${threads} ${parts}`);
        const { divisor } = problem;
        const each = isSpread(kind) ? product(reduced) : 1;
        for (const [o, terms] of termsOf(problem, data)
          .flatMap((terms) => Array.from({ length: each }, () => terms))
          .entries()) {
          const wanted = MEANING[kind](terms, o % each) / (kind === 'sum' ? divisor : 1);
          // terms are rounded to the dtype; sums and products are float64
          const u = dtype === 'float32' ? 2 ** -24 : 2 ** -53;
          const size =
            kind === 'sum'
              ? (4 * u * terms.reduce((sum, term) => sum + Math.abs(term), 0)) / divisor +
                u * Math.abs(wanted)
              : kind === 'prod'
                ? 4 * u * terms.length * Math.abs(wanted)
                : kind === 'min' || kind === 'max'
                  ? 2 * u * Math.abs(wanted)
                  : isExponential(kind)
                    ? exponentialBound(kind, terms, wanted, u)
                    : 0;
          expect(Math.abs(Number(out[o]) - wanted), `result ${o}`).toBeLessThanOrEqual(size);
        }
      });
    }
    test(`have every form of text (${dtype})`, () => {
      expect([...forms].sort()).toEqual([
        '1 of 1024 false',
        '1 of 256 false',
        '1 of 256 true',
        '256 of 256 false',
        '32 of 256 false',
        '32 of 256 true',
      ]);
    });
  }

  test.each([
    ['min', NaN],
    ['max', NaN],
    ['argMin', 5],
    ['argMax', 5],
    ['sum', NaN],
    ['any', 1],
    ['logSumExp', NaN],
    ['softmax', NaN],
    ['logSoftmax', NaN],
  ] as const)('%s of NaN is %s', (kind, wanted) => {
    for (const count of process.env['MERCER_TEST_FULL'] === '1' ? [20, 300, 40_000] : [40_000]) {
      const [base] = reduceProblems('float32').filter((one) => one.kind === kind);
      const problem: ReduceProblem = {
        ...base!,
        kept: [],
        reduced: [count],
        inputs: [{ name: 'x', dtype: 'float32', keptStrides: [], reducedStrides: [1] }],
        spread: base!.spread && { keptStrides: [], reducedStrides: [1] },
      };
      const data = dataFor(problem, (i) =>
        i === 5 || i === count - 1 ? NaN : kind === 'any' ? 0 : i % 17,
      );
      expect(Number(run(problem, data).out[0])).toEqual(wanted);
    }
  });

  test.each([
    ['sum', 0],
    ['prod', 1],
    ['min', Infinity],
    ['max', -Infinity],
    ['argMin', -1],
    ['argMax', -1],
    ['any', 0],
    ['all', 1],
    ['logSumExp', -Infinity],
  ] as const)('%s of nothing is %s', (kind, wanted) => {
    const [base] = reduceProblems('float64').filter((one) => one.kind === kind);
    const problem: ReduceProblem = {
      ...base!,
      kept: [3],
      reduced: [0],
      divisor: 1,
      inputs: [{ name: 'x', dtype: 'float64', keptStrides: [0], reducedStrides: [1] }],
    };
    expect(
      [
        ...run(
          problem,
          dataFor(problem, () => 1),
        ).out,
      ].map(Number),
    ).toEqual([wanted, wanted, wanted]);
  });

  test.each([
    ['logSumExp', [-Infinity, -Infinity], [-Infinity]],
    ['logSumExp', [3, Infinity], [Infinity]],
    ['logSumExp', [-Infinity, 2, -Infinity], [2]],
    ['softmax', [-Infinity, 2, -Infinity], [0, 1, 0]],
    ['softmax', [3, Infinity], [0, NaN]],
    ['softmax', [-Infinity, -Infinity], [NaN, NaN]],
    ['logSoftmax', [-Infinity, 2], [-Infinity, 0]],
    ['logSoftmax', [-Infinity, -Infinity], [NaN, NaN]],
    ['logSoftmax', [3, Infinity], [-Infinity, NaN]],
  ] as const)('%s of %j is %j', (kind, terms, wanted) => {
    const [base] = reduceProblems('float32').filter((one) => one.kind === kind);
    for (const repeat of [1, 200]) {
      const values = Array.from({ length: repeat }, () => terms).flat();
      const problem: ReduceProblem = {
        ...base!,
        expr: variable('x'),
        kept: [],
        reduced: [values.length],
        inputs: [{ name: 'x', dtype: 'float32', keptStrides: [], reducedStrides: [1] }],
        spread: base!.spread && { keptStrides: [], reducedStrides: [1] },
      };
      const data = { x: { values: Float32Array.from(values), start: 0 } };
      const found = [...run(problem, data).out].map(Number).slice(0, wanted.length);
      // one finite term, as often as it is repeated
      const finite = kind === 'logSumExp' ? Math.log(repeat) : -Math.log(repeat);
      const expected = wanted.map((one) =>
        kind === 'softmax' && one === 1
          ? 1 / repeat
          : Number.isFinite(one) && kind !== 'softmax'
            ? one + finite
            : one,
      );
      for (const [at, one] of expected.entries()) {
        if (Number.isFinite(one)) expect(found[at]).toBeCloseTo(one, 5);
        else expect(found[at]).toBe(one);
      }
    }
  });
});
