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
import { describe, expect, test } from 'vitest';
import { emitSum } from '../elementwise/emit-sum.js';
import { planSum } from '../elementwise/sum-plan.js';
import type { CudaKernel } from '../emitted-kernel.js';
import { normExpressions } from '../pairwise/norm-expressions.js';
import { runCudaKernel, runCudaProgram } from '../testing/cuda-emulator.test.helper.js';
import { H200 } from '../testing/h200.test.helper.js';
import { random } from '../testing/pairwise-check.test.helper.js';
import { emitPairwiseGradient } from './emit.js';
import { exchangeOperands, parameterGradients, rowsGradient } from './gradient-expressions.js';
import { gradientBlocking, gradientBlocks } from './gradient-params.js';
import { planPairwiseGradient } from './gradient-plan.js';
import type { PairwiseGradientProblem } from './gradient-problem.js';
import { emitRowsGradient, planRowsGradient } from './rows-gradient.js';
import type { ForwardExpressions } from './scaled-norm.js';

type Values = Float32Array | Float64Array;

const [a, b, s, bandwidth] = [variable('a'), variable('b'), variable('s'), variable('bandwidth')];
const squares = mul(sub(a, b), sub(a, b));
const radius = div(sqrt(s), bandwidth);
const matern: ForwardExpressions = {
  ...{ inner: squares, reduce: 'sum', parameters: ['bandwidth'] },
  outer: mul(add(1, radius), exp(neg(radius))),
};

interface Case {
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

const CASES: readonly Case[] = [
  { name: 'p = 2', forward: normExpressions(2), dtype: 'float32', size: [66, 130, 35, 1] },
  {
    ...{ name: 'p = 2, few rows', forward: normExpressions(2), dtype: 'float64' },
    ...{ size: [3, 200, 5, 2], parts: 3 },
  },
  {
    ...{ name: 'p = 1.3', forward: normExpressions('runtime'), p: 1.3, dtype: 'float32' },
    ...{ size: [20, 70, 40, 1], turned: true },
  },
  { name: 'p = 0.5', forward: normExpressions(0.5), dtype: 'float64', size: [18, 66, 33, 1] },
  { name: 'maximum', forward: normExpressions(Infinity), dtype: 'float32', size: [34, 65, 35, 1] },
  {
    ...{ name: 'a kernel of one input', forward: matern, dtype: 'float32', size: [67, 67, 34, 1] },
    flags: { symmetric: true, maskDiagonal: true },
  },
];

/** What the expressions of a gradient give in float64, walked in plain loops. */
function expected(
  test: Case,
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
          pairs.map((pair, v) => [`pair${String(v)}`, evaluate(pair, known)]),
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

function run(test: Case, wrt: 'rows' | readonly string[]): void {
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
  const planned = planPairwiseGradient(problem, H200);
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
  runCudaProgram(emitPairwiseGradient(plan), {
    scalars: {
      ...{ m, n, k, batch, p, rowStrideA, stepStrideA, rowStrideB, stepStrideB },
      ...{ rowStrideG, columnStrideG, ...gradientBlocking(plan), diagonalOffset: 1 },
      ...{ batchStrideA: m * k, batchStrideB: n * k, batchStrideG: m * n },
      ...{ bandwidthStride: 0, bandwidthValue: 0 },
    },
    pointers: {
      ...{ a: data.a, b: data.b, gradient: data.g, out },
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
    expect(Math.abs((got[i] ?? NaN) - x), `${test.name} [${String(i)}]`).toBeLessThan(unit * scale);
  });
}

describe('gradient kernels in the emulator', () => {
  test.each(CASES)('rows: $name', (each) => {
    run(each, 'rows');
    if (each.flags === undefined) run({ ...each, forward: exchangeOperands(each.forward) }, 'rows');
  });

  test.each([
    { ...CASES[2], name: 'p' },
    { ...CASES[5], name: 'bandwidth', flags: { maskDiagonal: true } },
  ] as readonly Case[])('parameters: $name', (each) => {
    run(each, each.forward.parameters ?? ['p']);
  });

  test.each(['each', 'block'] as const)('sums over an axis: %s', (mode) => {
    const [outer, count, inner] = mode === 'each' ? [3, 5, 70] : [2, 700, 3];
    const source = new Float32Array(outer * count * inner).map(() => random());
    const out = new Float32Array(outer * inner);
    const plan = planSum({ from: 'float32', to: 'float32', outputs: outer * inner, count });
    expect(plan.mode).toBe(mode);
    const scalars = { outer, count, inner, strideOuter: count * inner, strideCount: inner };
    runCudaKernel(emitSum(plan, 'cuda') as CudaKernel, {
      scalars: { ...scalars, strideInner: 1 },
      pointers: [source, out],
    });
    out.forEach((x, index) => {
      const [o, i] = [Math.floor(index / inner), index % inner];
      let sum = 0;
      for (let j = 0; j < count; j++) sum += source[(o * count + j) * inner + i] ?? NaN;
      expect(Math.abs(x - sum)).toBeLessThan(2 ** -24 * sum * 1.001);
    });
  });

  test.each([true, false])('goes back through rows, normalised: %s', (normalise) => {
    const [m, k, batch] = [11, 37, 2];
    const x = new Float64Array(batch * m * k).map(() => random() - 0.5).fill(0, 0, k);
    const dy = new Float64Array(batch * m * k).map(() => random() - 0.5);
    const factors = new Float64Array(batch * k).map(() => random() + 0.5);
    for (const target of ['x', 'scale'] as const) {
      const out = new Float64Array(batch * m * k);
      const plan = planRowsGradient({ dtype: 'float64', normalise, target }, H200);
      runCudaProgram(emitRowsGradient(plan), {
        scalars: {
          ...{ m, k, batch, rowStrideX: k, stepStrideX: 1, batchStrideX: m * k },
          ...{ scaleBatchStride: k, scaleStride: 1, scaleValue: 0 },
        },
        pointers: { x, dy, out, scaleAt: factors },
      });
      for (let row = 0; row < batch * m; row++) {
        const f = (t: number): number => factors[Math.floor(row / m) * k + t] ?? NaN;
        const z = Array.from({ length: k }, (_, t) => (x[row * k + t] ?? NaN) * f(t));
        const squares = z.reduce((total, value) => total + value * value, 0);
        const along = z.reduce((total, value, t) => total + value * (dy[row * k + t] ?? NaN), 0);
        z.forEach((value, t) => {
          const up = dy[row * k + t] ?? NaN;
          const turned = squares === 0 ? 0 : (up - (value * along) / squares) / Math.sqrt(squares);
          const dz = normalise ? turned : up;
          const want = dz * (target === 'x' ? f(t) : (x[row * k + t] ?? NaN));
          expect(Math.abs((out[row * k + t] ?? NaN) - want)).toBeLessThan(1e-12);
        });
      }
    }
  });
});
