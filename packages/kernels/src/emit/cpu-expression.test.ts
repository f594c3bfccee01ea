import { abs, evaluate, mul, pow, print, select, sub, lt, variable } from '@mercer/formula';
import { describe, expect, it } from 'vitest';
import type { PairwiseDType } from '../pairwise/problem.js';
import { compileKernel, machines, runKernel } from '../testing/cpu-harness.test.helper.js';
import { emitCpuExpression } from './cpu-expression.js';
import { cpuLiteral } from './cpu-literal.js';
import { cpuHelpers, type CpuHelper } from './cpu-math.js';
import { vectorPrelude, type CpuLevel } from './cpu-vector.js';
import { ALL, compare, expected, missingOps, SCALARS } from './every-op.test.helper.js';
import { exactTanh } from './exact-tanh.test.helper.js';

const a = variable('a');
const b = variable('b');
const d = sub(a, b);

/** A kernel that applies expression i to pairs of inputs, one after the other. */
function sourceOf(dtype: PairwiseDType, level: CpuLevel): string {
  const functions = ALL.map((expr, i) =>
    emitCpuExpression(expr, {
      ...{ dtype, name: `f${String(i)}`, parameters: ['a', 'b'] },
      uniforms: { p: 'p', q: 'q' },
    }),
  );
  const helpers = new Set<CpuHelper>(functions.flatMap((f) => [...f.helpers]));
  const uniforms = functions.flatMap((f) => f.uniforms);
  return `${vectorPrelude(level, dtype)}
${cpuHelpers(helpers, dtype, level)}
${functions.map((f) => f.text).join('\n')}
struct Args { const T *a, *b; T* out; int64_t n; double p, q; };
extern "C" void apply(const void* args, int64_t begin, int64_t end, void*) {
  const Args& g = *(const Args*)args;
  const double p = g.p, q = g.q;
${uniforms
  .map(
    ({ name, wide }) => `  const double ${name}_wide = ${wide};
  const V ${name} = splat((T)${name}_wide), ${name}_low = splat((T)(${name}_wide - (double)(T)${name}_wide));
  (void)${name}_low;`,
  )
  .join('\n')}
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

describe.each(machines())('expressions by %s for %s', (compiler, level) => {
  it.each(['float32', 'float64'] as const)('mean what the evaluator says, %s', (dtype) => {
    const library = compileKernel(compiler, sourceOf(dtype, level), level);
    const { x, y } = expected(dtype);
    const count = x.length;
    const Values = dtype === 'float32' ? Float32Array : Float64Array;
    const params = new Uint8Array(48);
    const view = new DataView(params.buffer);
    view.setBigInt64(24, BigInt(count), true);
    view.setFloat64(32, SCALARS.p, true);
    view.setFloat64(40, SCALARS.q, true);
    const out = new Values(ALL.length * count);
    runKernel({
      ...{ library, entry: 'apply', params },
      buffers: [
        { at: 0, memory: new Values(x), written: false },
        { at: 8, memory: new Values(y), written: false },
        { at: 16, memory: out, written: true },
      ],
      ...{ tasks: ALL.length, chunk: 1, scratchBytes: 64 },
    });
    expect(compare(dtype, out).slice(0, 20)).toEqual([]);
  });
});

describe('the comparison', () => {
  it('covers every operation', () => {
    expect(missingOps()).toEqual([]);
  });

  it('has an oracle for tanh that agrees with an independent one where that is good', () => {
    for (let x = -25; x < 25; x += 0.0371) {
      expect(Math.abs(exactTanh(x) - Math.tanh(x))).toBeLessThan(
        4 * 2 ** -53 * Math.abs(exactTanh(x)),
      );
    }
    // tanh(1/2) to 40 digits is 0.4621171572600097585023184836436725487302
    expect(exactTanh(0.5)).toBe(0.46211715726000975);
    expect([exactTanh(-Infinity), exactTanh(1e-310), exactTanh(NaN)]).toEqual([-1, 1e-310, NaN]);
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

  it('makes a comparison of launch scalars a number that vectors compare', () => {
    const choice = select(lt(variable('p'), 2), a, b);
    const { text, uniforms } = emitCpuExpression(choice, {
      ...{ dtype: 'float32', name: 'f', parameters: ['a', 'b'], uniforms: { p: 'g.p' } },
    });
    expect(text).toContain('blend_v((f_u1 != splat(0)), a, b)');
    expect(uniforms).toEqual([{ name: 'f_u1', wide: '((g.p < 2.0) ? 1.0 : 0.0)' }]);
    expect(evaluate(choice, { p: 1, a: 5, b: 6 }), print(choice)).toBe(5);
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
