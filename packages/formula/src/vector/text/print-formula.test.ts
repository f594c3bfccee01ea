import { describe, expect, it } from 'vitest';
import { grad, ops, parseFormula, printFormula, vi, vj } from '../../index.js';

const ALIASES = { x: vi(0, 3), y: vj(1, 3), b: vj(2, 1), z: vi(3, 4) };

describe('printFormula', () => {
  it.each([
    'Exp(-SqDist(x, y)) * b',
    'SqNorm2(x)',
    'Norm2(x)',
    '(x | y) * b',
    'x | y - x',
    'Sum(x * x)',
    '-x ** 3',
    '(-x) ** 3',
    'x ** (-2)',
    'Powf(x, 2)',
    'x ** y ** b',
    '(x ** y) ** b',
    'x - (y - x)',
    'x - y - x',
    'x / (y * b)',
    'x * (-3)',
    '(x < y) * 2',
    'x + y == b',
    '-(x * y)',
    '-x * y',
    'Elem(x, 1)',
    'ElemT(b, 4, 2)',
    'Extract(x, 1, 2)',
    'ExtractT(x, 1, 5)',
    'Extract(z, 0, 2, 3)',
    'ComplexReal(z)',
    'ComplexImag(z)',
    'Real2Complex(x)',
    'Imag2Complex(x)',
    'Concat(x, y, b)',
    'MatVecMult(Concat(x, y), x)',
    'VecMatMult(x, Concat(x, y))',
    'TensorProd(x, y)',
    'TensorDot(z, z, [2, 2], [2, 2], [0], [1], [1, 0])',
    'OneHot(b, 5)',
    'Gather(y, Index_i + 1)',
    'SumT(b, 3)',
    'Zero(4)',
    'SinXDivX(x)',
    'SinXDivX(x, 2)',
    'Round(x, 3)',
    'BesselK(x, -0.5)',
    'Where(Index_i < Index_j, b, inf)',
    '1e-7 * x + 1e+30',
  ])('writes what it reads: %s', (text) => {
    const formula = parseFormula(text, ALIASES);
    expect(printFormula(formula, { names: ALIASES })).toBe(text);
    expect(parseFormula(printFormula(formula))).toBe(formula);
  });

  it('names parts that occur several times, in large formulas only', () => {
    const { x, y } = ALIASES;
    let formula = ops.sqDist(x, y);
    for (let n = 0; n < 40; n++) formula = ops.mul(formula, ops.add(formula, 1));
    const text = printFormula(formula);
    expect(text.length).toBeLessThan(2000);
    expect(text).toMatch(/^t0 = SqDist\(Vi\(0, 3\), Vj\(1, 3\)\); t1 = /);
    expect(parseFormula(text)).toBe(formula);
    expect(printFormula(grad(ops.sqDist(x, y), x))).toBe('2 * (Vi(0, 3) - Vj(1, 3))');
  });

  it('writes deep formulas so that they can be read back', () => {
    let formula = ops.neg(ALIASES.x);
    for (let n = 0; n < 300; n++) formula = ops.sin(ops.neg(formula));
    expect(parseFormula(printFormula(formula))).toBe(formula);
  });
});
