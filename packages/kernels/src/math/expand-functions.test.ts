import {
  call,
  evaluate,
  FUNCTIONS,
  mul,
  postOrder,
  variable,
  type RealExpr,
} from '@mercer/formula/plan';
import { describe, expect, test } from 'vitest';
import { emitCpuExpression } from '../emit/cpu-expression.js';
import { cpuHelpers } from '../emit/cpu-math.js';
import { emitCudaExpression } from '../emit/cuda-expression.js';
import { cudaHelpers } from '../emit/cuda-math.js';
import { PlanError } from '../plan-error.js';
import { expandFunctions } from './expand-functions.js';
import { mathFunction, mathName, partsOf } from './math-function.js';

const [a, p] = [variable('a'), variable('p')];
const calls = (expr: RealExpr): boolean => postOrder(expr).some(({ op }) => op === 'call');

describe('functions written out', () => {
  test.each([
    ['radialBesselK', [0.5]],
    ['radialBesselK', [7.5]],
    ['radialBesselK', [-2.5]],
    ['besselK', [-3.5]],
    ['radialWendland', [1, 0]],
    ['radialWendland', [5, 8]],
    ['radialWendland', [4, -3]],
    ['radialPower', [2.5]],
    ['radialPower', [-7]],
    ['radialPower', [33.3]],
    ['radialLog', [3]],
  ] as const)('%s of %j means the same without a call', (fn, attributes) => {
    const node = call(fn, [a], attributes);
    const expanded = expandFunctions(node);
    expect(calls(expanded)).toBe(false);
    for (const at of [0, 1e-9, 0.01, 0.3, 0.99, 1, 1.7, 40, 900, NaN, Infinity]) {
      const wanted = evaluate(node, { a: at });
      const got = evaluate(expanded, { a: at });
      const off = Math.abs(got - wanted) / Math.abs(wanted);
      if (!Object.is(got + 0, wanted + 0)) expect(off, String(at)).toBeLessThan(1e-10);
    }
  });

  test('what calls nothing, or only what has a text, is the same node', () => {
    const plain = mul(a, a);
    const wave = call('sin', [plain]);
    expect(expandFunctions(plain)).toBe(plain);
    expect(expandFunctions(wave)).toBe(wave);
    expect(expandFunctions(call('besselK', [a], [0.7]))).toBe(call('besselK', [a], [0.7]));
  });

  test.each([
    ['polygamma', 21, 20],
    ['besselJ', -25, 24],
    ['sinXDivX', 13, 12],
  ] as const)('%s of order %i is refused', (fn, order, most) => {
    const node = call(fn, [a], [order]);
    expect(() => expandFunctions(mul(2, node))).toThrow(PlanError);
    expect(() => expandFunctions(mul(2, node))).toThrow(
      new RegExp(`'${fn}' of order ${order}: .* up to order ${most}`),
    );
  });
});

describe('functions in texts', () => {
  test('have names that tell orders apart', () => {
    const names = [0.25, -0.25, 1e-7, 2, 25, 2.5].map((order) =>
      mathName({ fn: 'besselK', attributes: [order] }),
    );
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^\w+$/);
    for (const fn of FUNCTIONS) {
      const parts = { fn, attributes: [-0.25, 3] };
      expect(partsOf(mathFunction(parts))).toEqual(parts);
    }
  });

  test('stand there once, with what they share, and only where they are called', () => {
    for (const dtype of ['float32', 'float64'] as const) {
      const wanted = [
        'math lgamma',
        'math polygamma 1',
        'math polygamma 2',
        'math lgamma',
      ] as const;
      for (const text of [cpuHelpers(wanted, dtype, 'x86-64-v3'), cudaHelpers(wanted, dtype)]) {
        expect(text.match(/ log_wide\(Wide x\)/g)).toHaveLength(1);
        expect(text.match(/ math_lgamma\(/g)).toHaveLength(1);
        expect(text).not.toContain('exp_wide');
      }
      expect(cudaHelpers([], dtype)).toBe('');
      expect(cudaHelpers(['math sin'], dtype)).not.toContain('Wide');
    }
  });

  test('take launch scalars as values of the data type', () => {
    const product = mul(a, call('lgamma', [mul(p, p)]));
    const cpu = emitCpuExpression(product, {
      dtype: 'float32',
      name: 'f',
      parameters: ['a'],
      uniforms: { p: 'g.p' },
    });
    expect(cpu.uniforms).toEqual([{ name: 'f_u1', value: '(g.p * g.p)' }]);
    expect(cpu.text).toContain('math_lgamma(f_u1)');
    const cuda = emitCudaExpression(product, {
      dtype: 'float32',
      bindings: { a: 'a' },
      uniform: ['p'],
    });
    expect(cuda.uniformStatements).toEqual([
      'const double tu0_wide = (p * p);',
      'const float tu0 = (float)tu0_wide;',
    ]);
    expect(cuda.statements[0]).toBe('const float t1 = math_lgamma(tu0);');
  });
});
