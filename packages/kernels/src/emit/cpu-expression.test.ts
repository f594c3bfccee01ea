import {
  abs,
  build,
  evaluate,
  exp,
  log,
  mul,
  neg,
  OPS,
  pow,
  print,
  select,
  lt,
  SIGNATURES,
  sub,
  variable,
  variables,
  type RealExpr,
} from '@mercer/formula';
import { describe, expect, it } from 'vitest';
import type { PairwiseDType } from '../pairwise/problem.js';
import { compileKernel, machines, runKernel } from '../testing/cpu-harness.test.helper.js';
import { emitCpuExpression } from './cpu-expression.js';
import { cpuLiteral } from './cpu-literal.js';
import { cpuHelpers, type CpuHelper } from './cpu-math.js';
import { vectorPrelude, type CpuLevel } from './cpu-vector.js';

const a = variable('a');
const b = variable('b');
const d = sub(a, b);

/** Every operation on variables; comparisons inside a selection. */
const EVERY_OP: readonly RealExpr[] = OPS.filter((op) => op !== 'const' && op !== 'var').map(
  (op) => {
    const args = op === 'select' ? [lt(a, b), a, b] : [a, b].slice(0, SIGNATURES[op].args.length);
    const node = build(op, args);
    return node.type === 'bool' ? select(node, 1, 0) : node;
  },
);

const EXPRESSIONS: readonly RealExpr[] = [
  ...EVERY_OP,
  pow(abs(a), b),
  pow(abs(d), 1.3),
  pow(abs(d), 0.1),
  pow(abs(a), -2.7),
  exp(neg(mul(d, d))),
  log(abs(d)),
];

/** A kernel that applies expression i to pairs of inputs, one after the other. */
function sourceOf(dtype: PairwiseDType, level: CpuLevel): string {
  const functions = EXPRESSIONS.map((expr, i) =>
    emitCpuExpression(expr, { dtype, name: `f${String(i)}`, parameters: ['a', 'b'], uniforms: {} }),
  );
  const helpers = new Set<CpuHelper>(functions.flatMap((f) => [...f.helpers]));
  return `${vectorPrelude(level, dtype)}
${cpuHelpers(helpers, dtype, level)}
${functions.map((f) => f.text).join('\n')}
struct Args { const T *a, *b; T* out; int64_t n; };
extern "C" void apply(const void* args, int64_t begin, int64_t end, void*) {
  const Args& g = *(const Args*)args;
  for (int64_t t = begin; t < end; t++) {
    for (int64_t i = 0; i < g.n; i += LANES) {
      const V x = *(const VU*)(g.a + i), y = *(const VU*)(g.b + i);
      V r = x;
      switch (t) {
${functions.map((f, i) => `        case ${String(i)}: r = ${f.call('x', 'y')}; break;`).join('\n')}
      }
      *(VU*)(g.out + t * g.n + i) = r;
    }
  }
}
`;
}

const SPECIAL = [0, -0, 1, -1, 2, -2, 0.5, 3, -3, 4, 7.25, Infinity, -Infinity, NaN, 1e-30, 1e30];

/** Pairs of special values, random values of all sizes, and values near 1. */
function inputs(dtype: PairwiseDType): { x: number[]; y: number[] } {
  const x: number[] = [];
  const y: number[] = [];
  let state = 12345;
  const random = (): number => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648;
  const tiny = dtype === 'float32' ? [1e-40, 1.17549435e-38, 3.4e38] : [1e-310, 2.3e-308, 1.7e308];
  for (const first of [...SPECIAL, ...tiny]) {
    for (const second of [...SPECIAL, ...tiny]) {
      x.push(first);
      y.push(second);
    }
  }
  while (x.length % 16 !== 0 || x.length < 8192) {
    const scale = 2 ** (random() * 40 - 20);
    x.push(random() < 0.5 ? 1 + (random() - 0.5) / 8 : (random() - 0.3) * scale);
    y.push((random() - 0.5) * 12);
  }
  const rounded = (values: number[]): number[] =>
    dtype === 'float32' ? values.map(Math.fround) : values;
  return { x: rounded(x), y: rounded(y) };
}

/** The published bound of an expression at a point, in units of u. */
function allowance(expr: RealExpr, point: { a: number; b: number }, unit: number): number {
  const exponentOf = (node: RealExpr): number => {
    const [base, exponent] = node.args as readonly [RealExpr, RealExpr];
    return Math.abs(Math.log2(Math.abs(evaluate(base, point))) * evaluate(exponent, point));
  };
  // The difference itself is rounded once before it is raised or exponentiated.
  const variablesAreRounded = variables(expr).length > 0 && /a - b/.test(print(expr));
  if (expr.op === 'pow') return 6 + 1.5 * exponentOf(expr) + (variablesAreRounded ? 3 : 0);
  if (expr.op === 'exp') {
    const s = Math.abs(evaluate(expr.args[0] as RealExpr, point));
    return 4 + (variablesAreRounded ? 5 : 2) * s;
  }
  if (expr.op === 'log') return 4 + (variablesAreRounded ? 1 / Math.abs(evaluate(expr, point)) : 0);
  if (expr.op === 'tanh') return 6;
  if (unit === 2 ** -53) return 0;
  return expr.op === 'rsqrt' ? 2 : 1;
}

describe.each(machines())('expressions by %s for %s', (compiler, level) => {
  it.each(['float32', 'float64'] as const)('mean what the evaluator says, %s', (dtype) => {
    const library = compileKernel(compiler, sourceOf(dtype, level), level);
    const { x, y } = inputs(dtype);
    const bytes = dtype === 'float32' ? 4 : 8;
    const pack = (values: readonly number[]): Uint8Array =>
      new Uint8Array(
        (dtype === 'float32' ? new Float32Array(values) : new Float64Array(values)).buffer,
      );
    const params = new Uint8Array(32);
    new DataView(params.buffer).setBigInt64(24, BigInt(x.length), true);
    const raw = runKernel({
      ...{ library, entry: 'apply', params, a: pack(x), b: pack(y) },
      ...{ out: new Uint8Array(EXPRESSIONS.length * x.length * bytes), elementBytes: bytes },
      ...{ tasks: EXPRESSIONS.length, chunk: 1, scratchBytes: 64 },
    });
    const out = dtype === 'float32' ? new Float32Array(raw.buffer) : new Float64Array(raw.buffer);
    const unit = dtype === 'float32' ? 2 ** -24 : 2 ** -53;
    const [smallest, largest] =
      dtype === 'float32' ? [2 ** -126, 3.4028235677973366e38] : [2 ** -1022, Infinity];
    const wrong: string[] = [];
    EXPRESSIONS.forEach((expr, e) => {
      x.forEach((ax, i) => {
        const point = { a: ax, b: y[i] as number };
        // The evaluator has 1 ^ nan = 1; powers of a non-negative base give nan there.
        if (expr.op === 'pow' && Number.isNaN(point.b)) return;
        const exact = evaluate(expr, point);
        const wanted = Math.abs(exact) >= largest ? Math.sign(exact) * Infinity : exact;
        const got = out[e * x.length + i] as number;
        const error = Math.abs(got - wanted);
        const bound = allowance(expr, point, unit) * unit * Math.abs(wanted) + smallest * 2 * unit;
        // Zeros are compared without their sign, which is not part of a value.
        const same = Object.is(got + 0, wanted + 0) || error <= bound;
        // Where the true value is at an edge of the range a rounding may decide.
        const edge =
          (Math.abs(exact) > largest * (1 - 2 ** -16) &&
            Math.abs(got) > largest * (1 - 2 ** -16)) ||
          (Math.abs(exact) < smallest && Math.abs(got) <= smallest && expr.op !== 'abs');
        if (!same && !edge) {
          wrong.push(
            `${print(expr)} at ${String(ax)}, ${String(y[i])}: ${String(got)}, not ${String(wanted)}`,
          );
        }
      });
    });
    expect(wrong.slice(0, 20)).toEqual([]);
  });
});

describe('emitted text', () => {
  it('shares equal subexpressions and hoists arithmetic on launch scalars', () => {
    const p = variable('p');
    const inner = emitCpuExpression(mul(pow(abs(d), p), pow(abs(d), sub(p, 1))), {
      ...{ dtype: 'float32', name: 'inner', parameters: ['a', 'b'], uniforms: { p: 'p' } },
    });
    expect(inner.text).toMatchInlineSnapshot(`
      "INLINE V inner(V a, V b, V inner_u0, V inner_u0_low, V inner_u1, V inner_u1_low) {
        const V t0 = a - b;
        const V t1 = abs_v(t0);
        const V t2 = pow_nonnegative(t1, inner_u0, inner_u0_low);
        const V t3 = pow_nonnegative(t1, inner_u1, inner_u1_low);
        const V t4 = t2 * t3;
        return t4;
      }"
    `);
    expect(inner.uniforms).toEqual([
      { name: 'inner_u0', wide: 'p' },
      { name: 'inner_u1', wide: '(p - 1.0)' },
    ]);
    expect(inner.call('x', 'y')).toBe(
      'inner(x, y, inner_u0, inner_u0_low, inner_u1, inner_u1_low)',
    );
  });

  it('gives a power with a constant exponent what rounding it to float32 loses', () => {
    const { text } = emitCpuExpression(pow(abs(a), 1.3), {
      ...{ dtype: 'float32', name: 'f', parameters: ['a'], uniforms: {} },
    });
    expect(text).toMatchInlineSnapshot(`
      "INLINE V f(V a) {
        const V t0 = abs_v(a);
        const V t1 = pow_nonnegative(t0, splat(1.3f), splat(4.7683717e-8f));
        return t1;
      }"
    `);
  });

  it('writes literals of the data type', () => {
    expect(cpuLiteral(0.1, 'float32')).toBe('0.1f');
    expect(cpuLiteral(0.1, 'float64')).toBe('0.1');
    expect(cpuLiteral(1e40, 'float32')).toBe('__builtin_inff()');
    expect(cpuLiteral(3, 'float32')).toBe('3.0f');
    expect(cpuLiteral(-0, 'float64')).toBe('-0.0');
    expect(cpuLiteral(1 / 3, 'float32')).toBe('0.33333334f');
  });

  it('refuses variables that it was not given', () => {
    expect(() =>
      emitCpuExpression(mul(a, variable('q')), {
        ...{ dtype: 'float32', name: 'f', parameters: ['a'], uniforms: {} },
      }),
    ).toThrow(/cannot emit 'q'.*Use a\./);
  });
});
