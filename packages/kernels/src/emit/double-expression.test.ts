import { add, evaluate, exp, mul, variable, type RealExpr } from '@mercer/formula';
import { describe, expect, it } from 'vitest';
import { emitDoubleExpression } from './double-expression.js';

const p = variable('p');
const text = (expr: RealExpr): string =>
  emitDoubleExpression(expr, {
    literal: (value) => value.toFixed(1),
    variable: (name) => `u.${name}`,
    mathFunction: (name) => `__builtin_${name}`,
  });

describe('expressions of launch scalars', () => {
  it('are one C++ expression', () => {
    expect(text(add(exp(p), 1))).toBe('(__builtin_exp(u.p) + 1.0)');
  });

  it('compute what occurs twice once', () => {
    const square = mul(p, p);
    expect(text(mul(square, square))).toBe(
      '[&] { const auto w0 = (u.p * u.p); return (w0 * w0); }()',
    );
  });

  it('grow with the number of distinct nodes, not with the size of the tree', () => {
    let tower: RealExpr = p;
    for (let i = 0; i < 60; i++) tower = mul(tower, tower);
    expect(text(tower).length).toBeLessThan(60 * 40);
    expect(evaluate(tower, { p: 1 })).toBe(1);
  });
});
