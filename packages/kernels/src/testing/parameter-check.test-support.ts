import {
  abs,
  add,
  div,
  evaluate,
  exp,
  lt,
  mul,
  neg,
  pow,
  select,
  sub,
  variable,
  type RealExpr,
} from '@mercer/formula';
import { expect } from 'vitest';
import type { LaunchableKernel, KernelProgram } from '../emitted-kernel.js';
import { emitPairwise } from '../pairwise/emit.js';
import { normExpressions } from '../pairwise/norm-expressions.js';
import type { PairwisePlan } from '../pairwise/plan-types.js';
import type { PairwiseDType } from '../dtype.js';
import type { PairwiseProblem } from '../pairwise/problem.js';
import type { ProgramLaunch } from './cpu-program.test-support.js';
import { Matrices, random, type Shape } from './pairwise-check.test-support.js';

const [a, b, s, p] = [variable('a'), variable('b'), variable('s'), variable('p')];
const [bandwidth, epsilon, gamma] = [variable('bandwidth'), variable('epsilon'), variable('gamma')];
const difference = sub(a, b);

/** Expressions with parameters, and sensible values of those. */
export interface Family {
  readonly name: string;
  readonly expressions: Pick<PairwiseProblem, 'inner' | 'outer' | 'reduce' | 'parameters'>;
  readonly values: Readonly<Record<string, readonly number[]>>;
  readonly p?: number;
}

const sum = (inner: RealExpr, outer: RealExpr, parameters: readonly string[]) =>
  ({ inner, outer, reduce: 'sum', parameters }) as const;

/** What the tests of parameters rotate through. */
export const FAMILIES: readonly Family[] = [
  {
    name: 'gaussian with a clamp',
    expressions: sum(
      mul(difference, difference),
      exp(mul(select(lt(s, epsilon), 0, s), neg(div(0.5, mul(bandwidth, bandwidth))))),
      ['bandwidth', 'epsilon'],
    ),
    values: { bandwidth: [2.25, 3.5, 5], epsilon: [0.5, 0.25, 1] },
  },
  {
    name: 'p from memory',
    expressions: { ...normExpressions('runtime'), parameters: ['p'] },
    values: { p: [1.25, 2.5, 0.75] },
  },
  {
    name: 'p in the inner part only, with another root',
    expressions: sum(pow(abs(difference), p), pow(s, div(1, variable('outerP'))), ['outerP', 'p']),
    values: { outerP: [2, 1.5, 4], p: [1.5, 2.25, 3] },
  },
  {
    name: 'a weight in the inner part',
    expressions: sum(mul(mul(gamma, gamma), abs(difference)), add(s, p), ['gamma']),
    values: { gamma: [0.5, 1.25, 2] },
    p: 3,
  },
  {
    name: 'a power without parameters',
    expressions: normExpressions('runtime'),
    values: {},
    p: 1.3,
  },
  {
    name: 'a maximum',
    expressions: {
      inner: mul(abs(difference), gamma),
      outer: div(s, bandwidth),
      reduce: 'max',
      parameters: ['gamma', 'bandwidth'],
    },
    values: { bandwidth: [2, 3.5, 5], gamma: [0.5, 1.25, 2] },
  },
];

/** How the parameters and the diagonal of one launch are given. */
export interface ParameterCase extends Shape {
  /** Parameters in memory; 'shared' is one value for all batch entries. */
  readonly memory?: 'none' | 'own' | 'shared';
  readonly diagonalOffset?: number;
  readonly regularization?: number;
}

/** Runs a program on a device, or in place of one. */
export type Runner = (program: KernelProgram<LaunchableKernel>, launch: ProgramLaunch) => void;

const arrayOf = (dtype: PairwiseDType, values: readonly number[]): Float32Array | Float64Array =>
  dtype === 'float32' ? Float32Array.from(values) : Float64Array.from(values);

/** Runs a plan of a family and compares each output with float64, and both halves of symmetric ones. */
export function checkParameters(
  plan: PairwisePlan,
  problem: PairwiseProblem,
  family: Family,
  shape: ParameterCase,
  run: Runner,
): void {
  const { launch, verify } = parameterLaunch(plan, problem, family, shape);
  run(emitPairwise(plan), launch);
  verify();
}

/** A launch of a plan on random data, and what checks its outputs. */
export function parameterLaunch(
  plan: PairwisePlan,
  problem: PairwiseProblem,
  family: Family,
  shape: ParameterCase,
): { readonly launch: ProgramLaunch; readonly verify: () => void } {
  const { m, n, k, batch, gap = 0, shared, memory = 'none' } = shape;
  const { diagonalOffset = 0, regularization = 0.125 } = shape;
  const { dtype, layoutA, layoutB, layoutOut, symmetric = false, parameters = [] } = problem;
  const shareA = shared === 'a' || shared === 'both';
  const A = new Matrices(layoutA, dtype, m, k, batch, gap, shareA, random);
  const B = symmetric
    ? A
    : new Matrices(layoutB, dtype, n, k, batch, gap, shared === 'b' || shared === 'both', random);
  const untouched = -12345.5;
  const out = new Matrices(layoutOut, dtype, m, n, batch, gap, false, () => untouched);
  const layers = memory === 'own' ? batch : 1;
  const own = Object.fromEntries(
    parameters.map((name) => {
      const values = family.values[name] ?? [1];
      const taken = Array.from({ length: layers }, (_, l) => values[l % values.length] ?? 1);
      return [name, arrayOf(dtype, taken)] as const;
    }),
  );
  const wrong = { Stride: 1_000_000, Value: NaN };
  const scalarsOf = (name: string, first: number, inMemory: boolean): [string, number][] => [
    [`${name}Stride`, inMemory ? (memory === 'own' ? 1 : 0) : wrong.Stride],
    [`${name}Value`, inMemory ? wrong.Value : first],
  ];
  const inMemory = memory !== 'none';
  const ridge = arrayOf(
    dtype,
    Array.from({ length: layers }, (_, l) => regularization * (l + 1)),
  );
  const scalars: Record<string, number> = {
    m,
    n,
    k,
    batch,
    p: parameters.includes('p') ? NaN : (family.p ?? 2),
    diagonalOffset,
    lda: A.ld,
    ldb: B.ld,
    ldo: out.ld,
    batchStrideA: A.stride,
    batchStrideB: B.stride,
    batchStrideOut: out.stride,
    ...Object.fromEntries(
      parameters.flatMap((name) => scalarsOf(name, own[name]?.[0] ?? 1, inMemory)),
    ),
    ...Object.fromEntries(scalarsOf('regularization', ridge[0] ?? 0, inMemory)),
  };
  const launch: ProgramLaunch = {
    scalars,
    pointers: {
      a: A.values,
      b: B.values,
      out: out.values,
      ...Object.fromEntries(
        parameters.map((name) => [`${name}At`, inMemory ? (own[name] ?? null) : null]),
      ),
      regularizationAt: inMemory ? ridge : null,
    },
  };
  return {
    launch,
    verify: () => {
      verifyOutputs({ plan, problem, family, shape, A, B, out, own, ridge, untouched });
    },
  };
}

interface Outputs {
  readonly plan: PairwisePlan;
  readonly problem: PairwiseProblem;
  readonly family: Family;
  readonly shape: ParameterCase;
  readonly A: Matrices;
  readonly B: Matrices;
  readonly out: Matrices;
  /** Values of the parameters and of the regularisation, one or one per batch entry. */
  readonly own: Readonly<Record<string, Float32Array | Float64Array>>;
  readonly ridge: Float32Array | Float64Array;
  /** What lies between the rows of the output. */
  readonly untouched: number;
}

function verifyOutputs(outputs: Outputs): void {
  const { plan, problem, family, shape, A, B, out, own, ridge, untouched } = outputs;
  const { m, n, k, batch, memory = 'none', diagonalOffset = 0 } = shape;
  const { dtype, symmetric = false, parameters = [] } = problem;
  const written = new Set<number>();
  for (let l = 0; l < batch; l += 1) {
    const layer = memory === 'own' ? l : 0;
    const values = Object.fromEntries(parameters.map((name) => [name, own[name]?.[layer] ?? 1]));
    const bound = { p: family.p ?? 2, ...values };
    // one object for all terms: to make one takes longer than to evaluate
    const pair = { a: NaN, b: NaN, ...bound };
    for (let i = 0; i < m; i += 1) {
      for (let j = 0; j < n; j += 1) {
        const terms = Array.from({ length: k }, (_, t) => {
          pair.a = A.values[A.at(l, i, t)] ?? NaN;
          pair.b = B.values[B.at(l, j, t)] ?? NaN;
          return evaluate(problem.inner, pair);
        });
        const total =
          problem.reduce === 'sum' || k === 0
            ? terms.reduce((x, y) => x + y, 0)
            : Math.max(...terms);
        let wanted = evaluate(problem.outer, { s: total, ...bound });
        if (problem.diagonal !== undefined && j === i + diagonalOffset) {
          wanted = (problem.diagonal === 'set' ? 1 : wanted) + (ridge[layer] ?? 0);
        }
        const position = out.at(l, i, j);
        written.add(position);
        const got = out.values[position] ?? NaN;
        const unit = dtype === 'float32' ? 2 ** -24 : 2 ** -53;
        const limit = (40 + 2 * k) * unit * (1 + Math.abs(wanted));
        if (!Object.is(got, wanted) && !(Math.abs(got - wanted) <= limit)) {
          throw new Error(
            `${family.name} ${plan.summary} ${JSON.stringify(shape)} at ${[l, i, j].join(', ')}: ` +
              `${got}, not ${wanted}`,
          );
        }
        if (symmetric && diagonalOffset === 0) {
          const mirrored = out.values[out.at(l, j, i)];
          if (!Object.is(got, mirrored)) {
            throw new Error(
              `${plan.summary} ${JSON.stringify(shape)}: ${got} at ${[l, i, j].join(', ')}, but ${mirrored} mirrored`,
            );
          }
        }
      }
    }
  }
  out.values.forEach((value, position) => {
    if (!written.has(position)) expect(value, `output ${position}`).toBe(untouched);
  });
}
