import {
  add,
  evaluate,
  evaluateReduction,
  mul,
  pm,
  reduction,
  sub,
  substitute,
  variable,
  vij,
  type RealExpr,
  type VectorExpr,
} from '@mercer/formula';
import { describe, expect, test } from 'vitest';
import type { CpuLimits } from '../device-limits.js';
import { checkMapReduce } from '../map-reduce/map-reduce-check.test-support.js';
import { normExpressions } from '../pairwise/norm-expressions.js';
import { runnableLevels } from '../testing/cpu-harness.test-support.js';
import { runCpuProgram, runInterpretedProgram } from '../testing/cpu-program.test-support.js';
import { random } from '../testing/pairwise-check.test-support.js';
import {
  CASES,
  fill,
  operandsOf,
  PARAMETER_CASES,
  type GradientCase,
} from './gradient-cases.test-support.js';
import { exchangeOperands, parameterGradients, rowsGradient } from './gradient-expressions.js';
import {
  bothRolesFormula,
  parameterGradientFormulas,
  rowsGradientFormula,
  type GradientOperands,
} from './gradient-formula.js';

const [M, N, K] = [7, 9, 5];
const BANDWIDTH = 1.5;

// Rounded: many coordinates coincide.
const rows = (count: number): number[] =>
  Array.from({ length: count * K }, () => Math.round(8 * random()) / 4);
const upstreamOf = (m: number, n: number): number[] =>
  Array.from({ length: m * n }, () => random() - 0.5);

interface Data {
  readonly a: readonly number[];
  readonly b: readonly number[];
  readonly g: readonly number[];
}

/** What the expressions of a gradient give in float64, walked in plain loops: by row and component, or by parameter and row. */
function expected(
  { forward, dtype, p = 1 }: GradientCase,
  wrt: 'rows' | readonly string[],
  { a, b, g }: Data,
): number[] {
  const given =
    wrt === 'rows' ? rowsGradient(forward, dtype) : parameterGradients(forward, wrt, dtype);
  const ready = (expr: RealExpr): RealExpr => substitute(expr, { p, bandwidth: BANDWIDTH });
  const pairs = given.pairs.map(ready);
  const inner = ready(given.inner);
  const [m, n] = [a.length / K, b.length / K];
  const out = new Array<number>(wrt === 'rows' ? m * K : wrt.length * m).fill(0);
  const increase = (at: number, by: number): void => {
    out[at] = (out[at] ?? NaN) + by;
  };
  for (let i = 0; i < m; i++) {
    for (let j = 0; j < n; j++) {
      const steps = Array.from({ length: K }, (_, t) => ({
        a: a[i * K + t] ?? NaN,
        b: b[j * K + t] ?? NaN,
      }));
      const values = steps.map((step) => evaluate(inner, step));
      const total =
        forward.reduce === 'max' ? Math.max(...values) : values.reduce((x, y) => x + y, 0);
      const first = forward.reduce === 'max' ? values.indexOf(total) : undefined;
      const known = { upstream: g[i * n + j] ?? NaN, s: total };
      const kept = Object.fromEntries(pairs.map((pair, v) => [`pair${v}`, evaluate(pair, known)]));
      for (const [q, { value, term }] of given.sums.entries()) {
        if (value !== undefined) increase(q * m + i, evaluate(ready(value), known));
        for (const [t, step] of steps.entries()) {
          if (term === undefined || (first !== undefined && first !== t)) continue;
          const each = evaluate(ready(term), { ...step, ...kept });
          increase(wrt === 'rows' ? i * K + t : q * m + i, each);
        }
      }
    }
  }
  return out;
}

function sumOf(formula: VectorExpr, { a, b, g }: Data, p = 1): number[] {
  const [rowsI, rowsJ] = [a.length / K, b.length / K];
  const turned = g.map((_, at) => g[(at % rowsJ) * rowsI + Math.floor(at / rowsJ)] ?? NaN);
  const data = [a, b, g, turned, [p], [BANDWIDTH]];
  return [...(evaluateReduction(reduction('Sum', formula), data, { rowsI, rowsJ }).value ?? [])];
}

function expectEqual(got: readonly number[], want: readonly number[]): void {
  const scale = Math.max(...want.map(Math.abs), 1e-300);
  expect(got.length).toBe(want.length);
  for (const [at, value] of want.entries()) {
    expect(Math.abs((got[at] ?? NaN) - value), `[${at}]`).toBeLessThan(1e-13 * scale);
  }
}

describe('formulas of gradients', () => {
  const data = { a: rows(M), b: rows(N), g: upstreamOf(M, N) };

  test.each(CASES)('rows are what their expressions give: $name', (each) => {
    const formula = rowsGradientFormula(each.forward, each.dtype, operandsOf(K));
    expect(formula.dim).toBe(K);
    expectEqual(sumOf(formula, data, each.p), expected(each, 'rows', data));
  });

  test.each(PARAMETER_CASES)('parameters are what their expressions give: $name', (each) => {
    const { forward, dtype, names } = each;
    const formulas = parameterGradientFormulas(forward, names, dtype, operandsOf(K));
    expectEqual(
      formulas.flatMap((formula) => sumOf(formula, data, each.p)),
      expected(each, names, data),
    );
  });

  test.each(CASES)('one matrix has the gradients of both roles: $name', (each) => {
    const { forward, dtype, p } = each;
    const one = { a: data.a, b: data.a, g: upstreamOf(M, M) };
    const turned = {
      ...one,
      g: one.g.map((_, at) => one.g[(at % M) * M + Math.floor(at / M)] ?? NaN),
    };
    const formula = bothRolesFormula(forward, dtype, operandsOf(K), { upstream: vij(3, 1) });
    const other = expected({ ...each, forward: exchangeOperands(forward) }, 'rows', turned);
    expectEqual(
      sumOf(formula, one, p),
      expected(each, 'rows', one).map((value, at) => value + (other[at] ?? NaN)),
    );
  });
});

describe('sums of a pair that are stored', () => {
  const data = { a: rows(M), b: rows(N), g: upstreamOf(M, N) };

  test.each(CASES.filter(({ forward }) => forward.reduce === 'sum'))(
    'are read instead of computed: $name',
    (each) => {
      const { forward, dtype, p = 1 } = each;
      const inner = substitute(forward.inner, { p, bandwidth: BANDWIDTH });
      const sums = data.g.map((_, at) => {
        const [i, j] = [Math.floor(at / N), at % N];
        return Array.from({ length: K }, (__, t) =>
          evaluate(inner, { a: data.a[i * K + t] ?? NaN, b: data.b[j * K + t] ?? NaN }),
        ).reduce((x, y) => x + y, 0);
      });
      const stored = { ...operandsOf(K), sum: vij(6, 1) };
      const formula = rowsGradientFormula(forward, dtype, stored);
      const inputs = [data.a, data.b, data.g, data.g, [p], [BANDWIDTH], sums];
      const given = evaluateReduction(reduction('Sum', formula), inputs, { rowsI: M, rowsJ: N });
      expectEqual([...(given.value ?? [])], expected(each, 'rows', data));
    },
  );
});

// More than one tile of rows and of the interpreter; the plans loop over components, or write them out.
const SIZES = [
  [20, 600, 3],
  [66, 130, 35],
  [5, 6, 150],
] as const;

const level = runnableLevels().at(-1) ?? 'x86-64-v2';
const limits: CpuLimits = { kind: 'cpu', level, cores: 2, l1Bytes: 32768, l2Bytes: 1 << 20 };

describe.each([
  ['compiled', { ...limits }, runCpuProgram],
  ['interpreted', { ...limits, interpreted: true as const }, runInterpretedProgram],
] as const)('sums of them on a CPU, %s', (_, own, run) => {
  test.each(CASES)('rows: $name', ({ forward, dtype }) => {
    for (const [rowsI, rowsJ, k] of SIZES) {
      const sum = reduction('Sum', rowsGradientFormula(forward, dtype, operandsOf(k)));
      checkMapReduce(
        { reduction: sum, dtype, rowsI, rowsJ, fill, units: 64 },
        own,
        (program, launch) => {
          run(program, launch, level);
        },
      );
    }
  });

  test.each(PARAMETER_CASES)('parameters: $name', ({ forward, dtype, names }) => {
    for (const [rowsI, rowsJ, k] of SIZES) {
      const formulas = parameterGradientFormulas(forward, names, dtype, operandsOf(k));
      for (const formula of formulas) {
        const sum = reduction('Sum', formula);
        checkMapReduce(
          { reduction: sum, dtype, rowsI, rowsJ, fill, units: 64 },
          own,
          (program, launch) => {
            run(program, launch, level);
          },
        );
      }
    }
  });
});

describe('parts that depend on numbers alone', () => {
  const [p, h] = [1.3, 1.5];
  const given = (values: number[]): GradientOperands => ({
    ...operandsOf(K),
    values: {},
    numbers: { p, bandwidth: h },
    operandOf: (value) => pm(3 + values.push(value), 1),
  });
  const data = { a: rows(M), b: rows(N), g: upstreamOf(M, N) };

  test.each(CASES)('are computed once: $name', (each) => {
    const values: number[] = [];
    const formula = rowsGradientFormula(each.forward, each.dtype, given(values));
    const inputs = [data.a, data.b, data.g, data.g, ...values.map((value) => [value])];
    const sum = evaluateReduction(reduction('Sum', formula), inputs, { rowsI: M, rowsJ: N });
    expectEqual([...(sum.value ?? [])], expected({ ...each, p }, 'rows', data));
    if (each.p === undefined) return;
    expect(values).toContain(p - 1);
    expect(values).not.toContain(NaN);
  });

  test('the formula is the same for all numbers', () => {
    const of = (exponent: number): VectorExpr =>
      rowsGradientFormula(normExpressions('runtime'), 'float32', {
        ...given([]),
        numbers: { p: exponent },
      });
    expect(of(1.7)).toBe(of(2.9));
  });

  test('expressions as deep as a user likes are taken', () => {
    let outer: RealExpr = variable('s');
    for (let depth = 0; depth < 20_000; depth++) outer = add(mul(outer, 0.5), variable('p'));
    const forward = {
      inner: mul(sub(variable('a'), variable('b')), 1),
      outer,
      reduce: 'sum',
    } as const;
    expect(rowsGradientFormula(forward, 'float64', given([])).dim).toBe(K);
  });
});
