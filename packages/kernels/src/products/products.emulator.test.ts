import { describe, expect, test } from 'vitest';
import type { RealExpr } from '@mercer/formula';
import { exp, mul, neg, variable } from '@mercer/formula';
import { emitPairwise } from '../pairwise/emit.js';
import { normExpressions } from '../pairwise/norm-expressions.js';
import { planPairwise } from '../pairwise/plan.js';
import { runCudaProgram } from '../testing/cuda-emulator.test-support.js';
import { H200, pairwiseProblem } from '../testing/h200.test-support.js';
import { random } from '../testing/pairwise-check.test-support.js';
import { productsConfig } from './choose-products.js';
import { partsLength, type ProductsConfig } from './products-config.js';
import {
  centreOf,
  normal,
  partsOf,
  productsOfParts,
  rowsOf,
  squaredDistance,
  type Rows,
} from './products-check.test-support.js';

const U = 2 ** -24;

interface Computed {
  readonly out: Float32Array;
  readonly ldo: number;
}

/** All launches of a call, with the library's products emulated. */
function compute(
  a: Rows,
  b: Rows,
  k: number,
  {
    config = productsConfig(k),
    outer = normExpressions(2, { skipEpilogue: true }).outer,
    gap = 0,
    aligned = false,
    parameters,
    scalars = {},
  }: {
    readonly config?: ProductsConfig;
    readonly outer?: RealExpr;
    readonly gap?: number;
    readonly aligned?: boolean;
    readonly parameters?: readonly string[];
    readonly scalars?: Readonly<Record<string, number>>;
  } = {},
): Computed {
  const [m, n] = [a.rows, b.rows];
  const centre = centreOf(a, b, k);
  const [x, y] = [partsOf('a', a, centre, config), partsOf('b', b, centre, config)];
  const ldo = n + gap;
  const out = new Float32Array(m * ldo).fill(-7);
  productsOfParts(x, y, config, out, ldo);
  const problem = pairwiseProblem({
    ...normExpressions(2),
    outer,
    m,
    n,
    k,
    products: config,
    parameters,
    alignedA: aligned,
    alignedB: aligned,
    alignedOut: aligned,
  });
  const program = emitPairwise(planPairwise(problem, H200));
  const strides = { batchStrideA: 0, batchStrideB: 0, batchStrideOut: 0 };
  runCudaProgram(program, {
    scalars: { m, n, k, batch: 1, lda: a.ld, ldb: b.ld, ldo, ...strides, p: 2, ...scalars },
    pointers: {
      a: a.values,
      b: b.values,
      out,
      normsA: x.norms,
      normsB: y.norms,
      ...Object.fromEntries((parameters ?? []).map((name) => [`${name}At`, null])),
    },
  });
  return { out, ldo };
}

/** The largest error of squared distances, in u of them; equal rows must have 0. */
function worstError(a: Rows, b: Rows, k: number, { out, ldo }: Computed): number {
  let worst = 0;
  for (let i = 0; i < a.rows; i++) {
    for (let j = 0; j < b.rows; j++) {
      const want = squaredDistance(a, i, b, j, k);
      const got = out[i * ldo + j] ?? NaN;
      if (want === 0) expect(got).toBe(0);
      else worst = Math.max(worst, Math.abs(got - want) / (U * want));
    }
  }
  return worst;
}

/** Rows drawn around one of few points, whose spread is `share` of the squared norm. */
const clusters = (share: number, k: number) => {
  const centres = Array.from({ length: 4 * k }, normal);
  return (i: number, l: number): number =>
    Math.sqrt(share) * (centres[(i % 4) * k + l] ?? 0) + Math.sqrt(1 - share) * normal();
};

const close = (k: number) => {
  const base = Array.from({ length: k }, random);
  return (_: number, l: number): number => (base[l] ?? 0) + 1e-4 * random();
};

describe('squared distances through products', () => {
  test.each([
    ['normal', 256, () => normal],
    ['uniform', 300, () => random],
    ['normal + 100', 256, () => () => 100 + normal()],
    ['around few points', 256, (k: number) => clusters(0.5, k)],
    ['closer around few points', 520, (k: number) => clusters(0.9, k)],
    ['1e-4 close', 256, close],
    ['of one sign and far from 0', 40, () => () => 1e6 * (1 + random())],
  ] as const)('of %s rows of %d numbers hold the published bound', (_, k, kind) => {
    const value = kind(k);
    const [a, b] = [rowsOf(13, k, value, 3), rowsOf(17, k, value)];
    b.values.set(a.values.subarray(0, k), 2 * b.ld);
    const bound = 2 * Math.sqrt(k) + 7;
    expect(worstError(a, b, k, compute(a, b, k, { gap: 5 }))).toBeLessThan(bound);
  });

  test('of aligned rows, in tiles that are full and not, some of them all close', () => {
    const k = 64;
    const few = clusters(0.999, k);
    const value = (i: number, l: number): number => (i < 64 ? few(0, l) : normal());
    const [a, b] = [rowsOf(70, k, value), rowsOf(132, k, value)];
    const found = compute(a, b, k, { aligned: true });
    expect(worstError(a, b, k, found)).toBeLessThan(2 * Math.sqrt(k) + 7);
  });

  test('leave alone what lies between the rows of the output', () => {
    const [a, b] = [rowsOf(5, 40, normal), rowsOf(6, 40, normal)];
    const { out, ldo } = compute(a, b, 40, { gap: 2 });
    for (let i = 0; i < 5; i++)
      expect([...out.subarray(i * ldo + 6, (i + 1) * ldo)]).toEqual([-7, -7]);
  });

  test('of numbers that are not finite, huge or tiny are those of the direct kernel', () => {
    const k = 40;
    const special = (i: number, l: number): number =>
      i === 0 && l === 3 ? NaN : i === 1 && l === 5 ? Infinity : normal();
    const [a, b] = [rowsOf(4, k, special), rowsOf(5, k, normal)];
    const { out, ldo } = compute(a, b, k);
    expect([...out.subarray(0, 5)]).toEqual([NaN, NaN, NaN, NaN, NaN]);
    expect([...out.subarray(ldo, ldo + 5)]).toEqual(Array(5).fill(Infinity));
    for (const size of [1e18, 1e-18, 1e-19]) {
      const [x, y] = [rowsOf(4, k, () => size * normal()), rowsOf(4, k, () => size * normal())];
      const bound = 2 * Math.sqrt(k) + 7;
      expect(worstError(x, y, k, compute(x, y, k))).toBeLessThan(bound);
    }
  });

  test('give an epilogue with a parameter', () => {
    const [k, gamma] = [48, 0.01];
    const [a, b] = [rowsOf(3, k, normal), rowsOf(4, k, normal)];
    const outer = exp(neg(mul(variable('gamma'), variable('s'))));
    const numbers = { gammaStride: 0, gammaValue: gamma };
    const { out, ldo } = compute(a, b, k, { outer, parameters: ['gamma'], scalars: numbers });
    for (let i = 0; i < 3; i++) {
      for (let j = 0; j < 4; j++) {
        const want = Math.exp(-gamma * squaredDistance(a, i, b, j, k));
        expect(Math.abs((out[i * ldo + j] ?? NaN) - want)).toBeLessThan(40 * U * want);
      }
    }
  });
});

describe('the parts of rows', () => {
  test('are lo hi hi and hi lo hi of what is left without the centre, chunk by chunk, filled up with 0', () => {
    const k = 20;
    const config = { chunk: 8, chunks: 3, closeness: 0.3 };
    const x = rowsOf(9, k, normal, 1);
    x.values[0] = Infinity;
    const centre = Float32Array.from({ length: k }, (_, l) => l / 8);
    const [a, b] = [partsOf('a', x, centre, config), partsOf('b', x, centre, config)];
    const pitch = partsLength(config);
    for (let i = 0; i < x.rows; i++) {
      let norm = 0;
      for (let l = 0; l < 24; l++) {
        const at = i * pitch + Math.floor(l / 8) * 24 + (l % 8);
        const [lo = NaN, hi = NaN, again = NaN] = [0, 8, 16].map((part) => a.parts[at + part]);
        expect([b.parts[at], b.parts[at + 8], b.parts[at + 16], again]).toEqual([hi, lo, hi, hi]);
        const v = l < k ? Math.fround((x.values[i * x.ld + l] ?? NaN) - (centre[l] ?? NaN)) : 0;
        norm += v * v;
        const want = Number.isFinite(v) ? v : 0;
        expect(Math.abs(hi + lo - want)).toBeLessThanOrEqual(2 ** -23 * Math.abs(want));
        expect(Math.abs(lo)).toBeLessThanOrEqual(2 ** -11 * Math.abs(want));
      }
      expect(a.norms[i]).toBe(Math.fround(norm));
      expect(b.norms[i]).toBe(a.norms[i]);
    }
  });

  test('have a centre near the mean of both, whatever is not finite', () => {
    const k = 35;
    const [a, b] = [rowsOf(700, k, () => 3, 2), rowsOf(30, k, () => 7)];
    a.values[1] = NaN;
    b.values[0] = -Infinity;
    const centre = centreOf(a, b, k);
    const mean = (3 * 512 + 7 * 30) / 542;
    expect(centre[0]).toBeCloseTo((3 * 512 + 7 * 29) / 542, 5);
    expect(centre[1]).toBeCloseTo((3 * 511 + 7 * 30) / 542, 5);
    for (let l = 2; l < k; l++) expect(centre[l]).toBeCloseTo(mean, 5);
  });
});
