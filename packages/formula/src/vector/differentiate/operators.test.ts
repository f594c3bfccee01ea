import { describe, expect, it } from 'vitest';
import {
  diff,
  divergence,
  evaluateVector,
  grad,
  gradMatrix,
  indexJ,
  laplacian,
  ops,
  parseFormula,
  pm,
  printFormula,
  sumLinOperator,
  traceOperator,
  unrolledSize,
  vi,
  vj,
} from '../../plan.js';

const [x, y, m] = [vi(0, 3), vj(1, 3), pm(2, 9)];
const DATA = [
  [0.3, -1.2, 0.7],
  [1.1, 0.4, -0.6],
  [2, -1, 0.5, 0.3, 1, 4, -2, 0.1, 3],
];
const NAMES = { x, y, m };
const read = (text: string): ReturnType<typeof parseFormula> => parseFormula(text, NAMES);
const value = (f: ReturnType<typeof read>): number[] => [...evaluateVector(f, DATA)];
const close = (got: readonly number[], wanted: readonly number[]): void => {
  expect(got.length).toBe(wanted.length);
  for (const [k, one] of wanted.entries()) expect(got[k]).toBeCloseTo(one, 11);
};

describe('Grad and Diff', () => {
  it("are each other's transpose on every pair of components", () => {
    const f = read('MatVecMult(m, Sin(x * y)) * Exp(-SqDist(x, y))');
    const matrix = value(gradMatrix(f, x));
    for (const k of [0, 1, 2]) {
      close(value(diff(f, x, ops.elemT(1, 3, k))), [matrix[k]!, matrix[3 + k]!, matrix[6 + k]!]);
      close(value(grad(f, x, ops.elemT(1, 3, k))), matrix.slice(3 * k, 3 * k + 3));
    }
  });

  it("go over every kind of node that KeOps' Diff refuses", () => {
    const f = read('TensorDot(m, Concat(x, x, y), [3, 3], [3, 3], [1], [0])');
    // Rows 0 and 1 of the second matrix are x, so d(out)[i, :] = (m_i0 + m_i1) u
    const u = [1, 2, -1];
    const direction = ops.concat(...u);
    const rows = [0, 1, 2].flatMap((i) =>
      u.map((c) => (DATA[2]![3 * i]! + DATA[2]![3 * i + 1]!) * c),
    );
    close(value(diff(f, x, direction)), rows);
  });

  it('take several inputs at once, and one input twice', () => {
    const f = read('x * y');
    close(value(diff(f, [x, y], [y, x])), value(read('y * y + x * x')));
    close(value(diff(f, [x, x], [1, 1])), value(read('2 * y')));
    expect(read('Diff(x * y, (x, y), (y, x))')).toBe(diff(f, [x, y], [y, x]));
  });

  it('leave exact zeros where nothing depends on the input', () => {
    expect(printFormula(read('Grad(Grad(x + y, x, m | m), x, 1)'))).toBe('Zero(3)');
    expect(printFormula(grad(read('y * 3'), x, 1))).toBe('Zero(3)');
    expect(printFormula(diff(read('y'), x, 1))).toBe('Zero(3)');
    // log(y) is infinite or NaN in places; it is no factor of a zero.
    expect(printFormula(grad(read('Sum(x + Log(y))'), x), { names: NAMES })).toBe('SumT(1, 3)');
  });

  it('keep gradients of Gaussian kernels as short as by hand', () => {
    const f = read('Exp(-SqDist(x, y))');
    expect(printFormula(grad(f, x), { names: NAMES })).toBe('-2 * (Exp(-SqDist(x, y)) * (x - y))');
    expect(unrolledSize(grad(f, x))).toBeLessThan(30);
  });

  it('differentiate by a row that was taken by index, and say so where they cannot', () => {
    const row = ops.gather(y, ops.add(indexJ, 0));
    const f = ops.sqDist(x, row);
    close(value(grad(f, row)), value(read('2 * (y - x)')));
    close(value(grad(f, x)), value(read('2 * (x - y)')));
    expect(() => grad(f, y)).toThrow(/rows of input 1 by index.*Differentiate by the Gather node/);
  });
});

describe('operators on inputs', () => {
  it('Divergence is the trace of the derivative', () => {
    for (const text of [
      'x',
      'MatVecMult(m, x)',
      'Sin(x) * y',
      'Exp(-SqDist(x, y)) * (x - y)',
      'Normalize(x)',
      'Concat(Elem(x, 2), Elem(x, 0), Sum(x))',
      'SumT(SqNorm2(x), 3) * x',
      'Max(x) * x',
    ]) {
      const f = read(text);
      const matrix = value(gradMatrix(f, x));
      close(value(divergence(f, x)), [matrix[0]! + matrix[4]! + matrix[8]!]);
      expect(read(`Divergence(${text}, x)`)).toBe(divergence(f, x));
    }
  });

  it('Laplacian is the trace of the Hessian, and grows with the formula, not with the dim', () => {
    const f = read('Exp(-SqDist(x, y)) * Sum(Sin(x))');
    const hessian = value(gradMatrix(grad(f, x), x));
    close(value(laplacian(f, x)), [hessian[0]! + hessian[4]! + hessian[8]!]);
    const nodes = (dim: number): number =>
      printFormula(laplacian(ops.exp(ops.neg(ops.sqDist(vi(0, dim), vj(1, dim)))), vi(0, dim)))
        .length;
    expect(nodes(500)).toBeLessThan(nodes(3) + 40);
  });

  it('TraceOperator, AdjointOperator and SumLinOperator act on linear formulas', () => {
    const matrix = DATA[2]!;
    const f = read('MatVecMult(m, x)');
    close(value(traceOperator(f, x)), [matrix[0]! + matrix[4]! + matrix[8]!]);
    const weighted = [0, 1, 2].reduce((sum, k) => sum + matrix[4 * k]! * DATA[1]![k]!, 0);
    close(value(traceOperator(f, x, y)), [weighted]);
    close(value(read('TraceOperator(x | y, x)')), [DATA[1]!.reduce((a, b) => a + b)]);
    close(value(read('AdjointOperator(MatVecMult(m, x), x, y)')), value(read('VecMatMult(y, m)')));
    close(value(sumLinOperator(f, x)), [matrix.reduce((a, b) => a + b)]);
    close(
      value(read('SumLinOperator(MatVecMult(m, x), x, y, y)')),
      value(read('y | MatVecMult(m, y)')),
    );
  });
});

describe('operators, misuse', () => {
  it.each([
    [
      'a formula for an input',
      () => grad(read('x * y'), read('x * y')),
      'NOT_DIFFERENTIABLE',
      /got a 'elementwise' node/,
    ],
    [
      'a seed of another dim',
      () => grad(read('x'), x, vi(4, 2)),
      'DIM_MISMATCH',
      /dim 2 and must have dim 3/,
    ],
    [
      'a direction of another dim',
      () => diff(read('x'), x, vi(4, 2)),
      'DIM_MISMATCH',
      /direction has dim 2/,
    ],
    [
      'two inputs and one direction',
      () => diff(read('x'), [x, y], [1]),
      'ARITY_MISMATCH',
      /2 inputs and 1 directions/,
    ],
    ['a Laplacian of a vector', () => laplacian(read('x'), x), 'DIM_MISMATCH', /formula has dim 3/],
    [
      'a divergence of a scalar',
      () => divergence(read('Sum(x)'), x),
      'DIM_MISMATCH',
      /dim 1 and the input has dim 3/,
    ],
    [
      'a Hessian of thousands',
      () => gradMatrix(vi(0, 5000), vi(0, 5000)),
      'LIMIT_EXCEEDED',
      /5000 components/,
    ],
  ] as const)('refuses %s', (_, call, code, message) => {
    expect(call).toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(message) as string }),
    );
  });
});
