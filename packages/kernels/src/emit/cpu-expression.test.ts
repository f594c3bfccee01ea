import { abs, evaluate, mul, pow, print, select, sub, lt, variable } from '@mercer/formula';
import { describe, expect, it } from 'vitest';
import { machines } from '../testing/cpu-harness.test-support.js';
import { emitCpuExpression } from './cpu-expression.js';
import { runCpuExpressions } from './cpu-expressions-kernel.test-support.js';
import { cpuLiteral } from './literals.js';
import { ALL, compare, expected, missingOps, SCALARS } from './every-op.test-support.js';
import { exactTanh } from './exact-tanh.test-support.js';

const a = variable('a');
const b = variable('b');
const d = sub(a, b);

describe.each(machines())('expressions by %s for %s', (compiler, level) => {
  it.each(['float32', 'float64'] as const)('mean what the evaluator says, %s', (dtype) => {
    const out = runCpuExpressions(ALL, { compiler, level, dtype }, expected(dtype), SCALARS);
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
      dtype: 'float32',
      name: 'inner',
      parameters: ['a', 'b'],
      uniforms: { p: 'p' },
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
      { name: 'inner_u0', value: 'p' },
      { name: 'inner_u1', value: '(p - 1.0)' },
    ]);
    expect(inner.call('x', 'y')).toBe(
      'inner(x, y, inner_u0, inner_u0_low, inner_u1, inner_u1_low)',
    );
  });

  it('makes a comparison of launch scalars a number that vectors compare', () => {
    const choice = select(lt(variable('p'), 2), a, b);
    const { text, uniforms } = emitCpuExpression(choice, {
      dtype: 'float32',
      name: 'f',
      parameters: ['a', 'b'],
      uniforms: { p: 'g.p' },
    });
    expect(text).toContain('blend_v((f_u1 != splat(0)), a, b)');
    expect(uniforms).toEqual([{ name: 'f_u1', value: '((g.p < 2.0) ? 1.0 : 0.0)' }]);
    expect(evaluate(choice, { p: 1, a: 5, b: 6 }), print(choice)).toBe(5);
  });

  it('gives a power with a constant exponent what rounding it to float32 loses', () => {
    const { text } = emitCpuExpression(pow(abs(a), 1.3), {
      dtype: 'float32',
      name: 'f',
      parameters: ['a'],
      uniforms: {},
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
        dtype: 'float32',
        name: 'f',
        parameters: ['a'],
        uniforms: {},
      }),
    ).toThrow(/cannot emit 'q'.*Use a\./);
  });
});
