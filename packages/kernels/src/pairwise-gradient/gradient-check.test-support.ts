import {
  add,
  div,
  evaluate,
  exp,
  mul,
  neg,
  sqrt,
  sub,
  substitute,
  variable,
} from '@mercer/formula';
import type { RealExpr } from '@mercer/formula';
import { expect } from 'vitest';
import type { DeviceLimits } from '../device-limits.js';
import type { KernelProgram } from '../kernel-program.js';
import { normExpressions } from '../pairwise/norm-expressions.js';
import { random } from '../testing/pairwise-check.test-support.js';
import { emitPairwiseGradient } from './emit.js';
import { parameterGradients, rowsGradient } from './gradient-expressions.js';
import { gradientBlocking, gradientBlocks } from './gradient-params.js';
import { planPairwiseGradient } from './gradient-plan.js';
import type { PairwiseGradientProblem } from './gradient-problem.js';
import type { ForwardExpressions } from './scaled-norm.js';

type Values = Float32Array | Float64Array;

const [a, b, s, bandwidth] = [variable('a'), variable('b'), variable('s'), variable('bandwidth')];
const squares = mul(sub(a, b), sub(a, b));
const radius = div(sqrt(s), bandwidth);
const matern: ForwardExpressions = {
  inner: squares,
  reduce: 'sum',
  parameters: ['bandwidth'],
  outer: mul(add(1, radius), exp(neg(radius))),
};

/** One launch of a gradient kernel. */
export interface GradientCase {
  readonly name: string;
  readonly forward: ForwardExpressions;
  readonly dtype: 'float32' | 'float64';
  readonly size: readonly [m: number, n: number, k: number, batch: number];
  readonly p?: number;
  readonly flags?: Pick<PairwiseGradientProblem, 'symmetric' | 'maskDiagonal'>;
  /** Operands and gradient are column-major. */
  readonly turned?: boolean;
  readonly parts?: number;
}

/** Norms, few rows in parts, column-major data, a maximum, and one input with a masked diagonal. */
export const CASES: readonly GradientCase[] = [
  { name: 'p = 2', forward: normExpressions(2), dtype: 'float32', size: [66, 130, 35, 1] },
  {
    name: 'p = 2, few rows',
    forward: normExpressions(2),
    dtype: 'float64',
    size: [3, 200, 5, 2],
    parts: 3,
  },
  {
    name: 'p = 1.3',
    forward: normExpressions('runtime'),
    p: 1.3,
    dtype: 'float32',
    size: [20, 70, 40, 1],
    turned: true,
  },
  { name: 'p = 0.5', forward: normExpressions(0.5), dtype: 'float64', size: [18, 66, 33, 1] },
  { name: 'maximum', forward: normExpressions(Infinity), dtype: 'float32', size: [34, 65, 35, 1] },
  {
    name: 'a kernel of one input',
    forward: matern,
    dtype: 'float32',
    size: [67, 67, 34, 1],
    flags: { symmetric: true, maskDiagonal: true },
  },
];

/** What the expressions of a gradient give in float64, walked in plain loops. */
function expected(
  test: GradientCase,
  wrt: 'rows' | readonly string[],
  data: { a: Values; b: Values; g: Values; bandwidth: number },
): Float64Array {
  const [m, n, k, batch] = test.size;
  const { forward, dtype, p = 1, flags = {} } = test;
  const constants = { p, bandwidth: data.bandwidth };
  const given =
    wrt === 'rows' ? rowsGradient(forward, dtype) : parameterGradients(forward, wrt, dtype);
  const ready = (expr: RealExpr): RealExpr => substitute(expr, constants);
  const pairs = given.pairs.map(ready);
  const sums = given.sums.map(({ value, term }) => ({
    value: value && ready(value),
    term: term && ready(term),
  }));
  const inner = ready(given.inner);
  const out = new Float64Array(wrt === 'rows' ? batch * m * k : wrt.length * batch);
  const at = (x: Values, l: number, i: number, j: number, rows: number, columns: number): number =>
    x[l * rows * columns + (test.turned === true ? j * rows + i : i * columns + j)] ?? NaN;
  const masked = (l: number, i: number, j: number): number =>
    flags.maskDiagonal === true && j === i + 1 ? 0 : at(data.g, l, i, j, m, n);
  for (let l = 0; l < batch; l++) {
    for (let i = 0; i < m; i++) {
      for (let j = 0; j < n; j++) {
        const steps = Array.from({ length: k }, (_, t) => ({
          a: at(data.a, l, i, t, m, k),
          b: at(data.b, l, j, t, n, k),
        }));
        const values = steps.map((step) => evaluate(inner, step));
        const total =
          forward.reduce === 'max' ? Math.max(...values) : values.reduce((x, y) => x + y, 0);
        const first = forward.reduce === 'max' ? values.indexOf(total) : undefined;
        const upstream = masked(l, i, j) + (flags.symmetric === true ? masked(l, j, i) : 0);
        const known = { upstream, s: total };
        const kept = Object.fromEntries(
          pairs.map((pair, v) => [`pair${v}`, evaluate(pair, known)]),
        );
        sums.forEach(({ value, term }, q) => {
          const place = (t: number): number =>
            wrt === 'rows' ? (l * m + i) * k + t : q * batch + l;
          if (value) out[place(0)] = (out[place(0)] ?? 0) + evaluate(value, known);
          steps.forEach((step, t) => {
            if (term === undefined || (first !== undefined && first !== t)) return;
            out[place(t)] = (out[place(t)] ?? 0) + evaluate(term, { ...step, ...kept });
          });
        });
      }
    }
  }
  return out;
}

/** A device: what plans may know about it, and how its programs are run. */
export interface GradientRunner {
  readonly limits: DeviceLimits;
  readonly run: (
    program: KernelProgram,
    launch: {
      readonly scalars: Readonly<Record<string, number>>;
      readonly pointers: Readonly<Record<string, Values>>;
    },
  ) => void;
}

/** Runs a case on random data, much of it coincident, and compares every element with plain loops. */
export function checkGradient(
  test: GradientCase,
  wrt: 'rows' | readonly string[],
  runner: GradientRunner,
): void {
  const [m, n, k, batch] = test.size;
  const { forward, dtype, p = 1, flags = {}, turned = false } = test;
  const array = (size: number): Values =>
    dtype === 'float32' ? new Float32Array(size) : new Float64Array(size);
  // Rounded: many coordinates coincide.
  const value = (): number => Math.round(8 * random()) / 4;
  const data = {
    a: array(batch * m * k).map(value),
    b: array(batch * n * k).map(value),
    g: array(batch * m * n).map(() => random() - 0.5),
    bandwidth: 1.5,
  };
  if (flags.symmetric === true) data.b = data.a;
  const problem = { ...forward, ...flags, dtype, m, n, k, batch, wrt };
  const planned = planPairwiseGradient(problem, runner.limits);
  const plan = { ...planned, parts: test.parts ?? planned.parts };
  const blocks = gradientBlocks(plan, m);
  const out =
    wrt === 'rows'
      ? array(plan.parts * batch * m * k).fill(NaN)
      : new Float64Array(wrt.length * batch * blocks).fill(NaN);
  const strides = (rows: number, columns: number): [number, number] =>
    turned ? [1, rows] : [columns, 1];
  const [rowStrideA, stepStrideA] = strides(m, k);
  const [rowStrideB, stepStrideB] = strides(n, k);
  const [rowStrideG, columnStrideG] = strides(m, n);
  runner.run(emitPairwiseGradient(plan), {
    scalars: {
      m,
      n,
      k,
      batch,
      p,
      rowStrideA,
      stepStrideA,
      rowStrideB,
      stepStrideB,
      rowStrideG,
      columnStrideG,
      ...gradientBlocking(plan),
      diagonalOffset: 1,
      batchStrideA: m * k,
      batchStrideB: n * k,
      batchStrideG: m * n,
      bandwidthStride: 0,
      bandwidthValue: 0,
    },
    pointers: {
      a: data.a,
      b: data.b,
      gradient: data.g,
      out,
      bandwidthAt: array(1).fill(data.bandwidth),
    },
  });
  const want = expected(test, wrt, data);
  const got = new Float64Array(want.length);
  if (wrt === 'rows')
    out.forEach((x, i) => (got[i % want.length] = (got[i % want.length] ?? 0) + x));
  else
    out.forEach((x, i) => (got[Math.floor(i / blocks)] = (got[Math.floor(i / blocks)] ?? 0) + x));
  const unit = dtype === 'float32' ? 2e-5 : 1e-12;
  const scale = Math.max(...want.map(Math.abs)) + 1;
  want.forEach((x, i) => {
    expect(Math.abs((got[i] ?? NaN) - x), `${test.name} [${i}]`).toBeLessThan(unit * scale);
  });
}

/** The cases of parameters, with their names. */
export const PARAMETER_CASES = [
  { ...CASES[2], name: 'p' },
  { ...CASES[5], name: 'bandwidth', flags: { maskDiagonal: true } },
] as readonly GradientCase[];
