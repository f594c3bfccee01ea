import { abs, add, div, exp, max, mul, pow, sqrt, sub, variable, type Expr } from '@mercer/formula';
import { describe, expect, test } from 'vitest';
import { emitCudaExpression, type CudaExpressionOptions } from './cuda-expression.js';
import { cudaLiteral } from './literals.js';
import { cudaHelpers, horner } from './cuda-math.js';

const [a, b, p, s] = ['a', 'b', 'p', 's'].map(variable) as [
  ReturnType<typeof variable>,
  ReturnType<typeof variable>,
  ReturnType<typeof variable>,
  ReturnType<typeof variable>,
];
const emit = (expr: Expr, options: Partial<CudaExpressionOptions> = {}): string => {
  const text = emitCudaExpression(expr, {
    dtype: 'float32',
    bindings: { a: 'x', b: 'y', s: 's' },
    ...options,
  });
  return [...text.uniformStatements, ...text.statements, text.result].join('\n');
};

describe('expressions', () => {
  test('a shared subexpression is computed once', () => {
    const d = sub(a, b);
    expect(emit(mul(mul(d, d), abs(d)))).toMatchInlineSnapshot(`
      "const float t0 = x - y;
      const float t1 = t0 * t0;
      const float t2 = fabsf(t0);
      const float t3 = t1 * t2;
      t3"
    `);
  });

  test('constants have the data type', () => {
    expect(emit(add(a, 0.1))).toContain('x + 0.1f');
    expect(emit(add(a, 0.1), { dtype: 'float64' })).toContain('x + 0.1;');
  });

  test('a power with a launch scalar keeps what float32 loses of the exponent', () => {
    const text = emit(pow(s, div(1, p)), { uniform: ['p'], positive: ['p'], nonNegative: ['s'] });
    expect(text).toMatchInlineSnapshot(`
      "const double tu0_wide = (1.0 / p);
      const float tu0 = (float)tu0_wide;
      const float t1 = pow_positive(s, tu0, (float)(tu0_wide - (double)tu0));
      t1"
    `);
  });

  test('a base of unknown sign takes the power with signs', () => {
    const { helpers } = emitCudaExpression(pow(a, 3.5), { dtype: 'float32', bindings: { a: 'x' } });
    expect([...helpers]).toEqual(['powAny']);
  });

  test('an exponent that may be 0 or negative takes the general power', () => {
    const text = emit(pow(abs(a), p), { uniform: ['p'] });
    expect(text).toContain('pow_nonnegative(');
  });

  test('max keeps NaN, roots of what may be negative are the exact ones', () => {
    expect(emit(max(a, b))).toContain('max_nan(x, y)');
    expect(emit(sqrt(a))).toContain('sqrtf(x)');
    expect(emit(sqrt(s), { nonNegative: ['s'] })).toContain('sqrt_nonnegative(s)');
    expect(emit(sqrt(abs(a)), { approximateRoots: true })).toContain('sqrt_approximate');
  });

  test('exponentials by the special-function unit where that is asked for, in float32', () => {
    expect(emit(exp(a))).toContain('expf(x)');
    expect(emit(exp(a), { approximateExponentials: true })).toContain('exp_approximate(x)');
    const inFloat64 = { dtype: 'float64', approximateExponentials: true } as const;
    expect(emit(exp(a), inFloat64)).toContain('exp(x)');
  });

  test('an unbound variable is an error that names it', () => {
    expect(() => emit(variable('stranger'))).toThrow("cannot emit 'stranger'");
  });
});

describe('literals', () => {
  test.each([
    [1, '1.0f'],
    [0.1, '0.1f'],
    [-2.5, '(-2.5f)'],
    [1e-30, '1e-30f'],
    [1 / 3, '0.33333334f'],
    [-0, '(-0.0f)'],
    [Infinity, '__int_as_float(0x7f800000)'],
    [1e40, '__int_as_float(0x7f800000)'],
  ])('%f in float32 is %s', (value, text) => {
    expect(cudaLiteral(value, 'float32')).toBe(text);
  });

  test('float32 literals read back as the rounded value', () => {
    for (let i = 1; i < 2000; i += 1) {
      const value = Math.fround(Math.sin(i) * 10 ** ((i % 60) - 30));
      const text = cudaLiteral(value, 'float32').replace(/[()f]/g, '');
      expect(Math.fround(Number(text))).toBe(value);
    }
  });
});

test('horner nests from the highest power', () => {
  expect(horner([1, 2, 3], 'x', 'float64')).toBe('fma(fma(3.0, x, 2.0), x, 1.0)');
});

test('helpers bring what they need, once', () => {
  const text = cudaHelpers(['powAny', 'powNonNegative'], 'float32');
  expect(text.match(/float log2_split\(/g)).toHaveLength(1);
  expect(text.indexOf('float log2_split(')).toBeLessThan(text.indexOf('float pow_nonnegative('));
});
