import { describe, expect, it } from 'vitest';
import {
  axesOf,
  defineOp,
  dependences,
  elementwise,
  evaluateVector,
  grad,
  indexI,
  indexJ,
  innerForm,
  inputsOf,
  isVectorExpr,
  ops,
  parseFormula,
  pm,
  postOrderVector,
  print,
  printFormula,
  scalarOf,
  simplifyVector,
  substituteVector,
  unrolledSize,
  vi,
  vj,
  type VectorExpr,
} from '../plan.js';

const [x, y, b] = [vi(0, 3), vj(1, 3), pm(2, 1)];
const value = (
  f: VectorExpr,
  data: readonly number[][] = [[1, 2, 3], [4, 0, -1], [2]],
): number[] => [...evaluateVector(f, data)];

describe('nodes', () => {
  it('are interned: the same content is the same node', () => {
    expect(ops.exp(ops.sub(x, y))).toBe(ops.exp(ops.sub(vi(0, 3), vj(1, 3))));
    expect(vi(0, 3)).not.toBe(vi(1, 3));
    expect(vi(0, 3)).not.toBe(vj(0, 3));
    expect(ops.constant(0)).not.toBe(ops.constant(-0));
    expect(ops.constant(NaN)).toBe(ops.constant(Number('x')));
    expect(ops.besselK(b, 1)).not.toBe(ops.besselK(b, 2));
    expect(ops.gather(x, 0)).not.toBe(ops.gather(vi(1, 3), 0));
    expect(ops.neg(-2)).toBe(ops.constant(2));
    expect(ops.zero(1)).toBe(ops.constant(0));
  });

  it('are one node however their arguments are written', () => {
    const two = ops.constant(2);
    expect(ops.mul(x, 2)).toBe(ops.mul(x, two));
    expect(ops.mul(2, x)).toBe(ops.mul(two, x));
    expect(ops.neg(two)).toBe(ops.constant(-2));
    expect(substituteVector(ops.exp(x), new Map([[x, y]]))).toBe(ops.exp(y));
    // an operation and a component sum or maximum of the same name, and arguments whose ids add up alike
    expect(ops.maximum(x, y)).not.toBe(ops.maximum(y, x));
    expect(ops.max(x)).not.toBe(ops.maximum(x, x));
    const made = Array.from({ length: 40 }, (_, at) => vi(at, 3));
    const pairs = made.flatMap((f) => made.map((g) => ops.sub(f, g)));
    expect(new Set(pairs).size).toBe(1600);
    for (const [at, one] of pairs.entries()) {
      expect([
        made.indexOf(one.args[0] as (typeof made)[number]),
        made.indexOf(one.args[1] as (typeof made)[number]),
      ]).toEqual([Math.floor(at / 40), at % 40]);
    }
  });

  it('leave the list that they are made of to its owner', () => {
    const [a, b] = [vi(90, 3), vj(91, 3)];
    const list = [a, b];
    const node = elementwise('atan2', list);
    expect(Object.isFrozen(list)).toBe(false);
    list.reverse();
    expect(node.args).toEqual([a, b]);
  });

  it('are frozen, and forgotten when nobody holds them', () => {
    const node = ops.exp(x);
    expect(Object.isFrozen(node) && Object.isFrozen(node.args)).toBe(true);
    const { gc } = globalThis as { gc?: () => void };
    const seen = new WeakRef(ops.exp(vi(77, 7)));
    return new Promise<void>((resolve) => setTimeout(resolve, 10)).then(() => {
      gc?.();
      expect(gc).toBeTypeOf('function');
      expect(seen.deref()).toBeUndefined();
    });
  });

  it('come in the order of use, each once', () => {
    const d = ops.sub(x, y);
    const f = ops.mul(ops.sqNorm2(d), d);
    const order = postOrderVector(f);
    expect(new Set(order).size).toBe(order.length);
    for (const [at, node] of order.entries()) {
      for (const arg of node.args) expect(order.indexOf(arg)).toBeLessThan(at);
    }
    expect(inputsOf(ops.gather(y, ops.add(indexI, b)), x)).toEqual([x, y, b]);
  });

  it('tell foreign objects', () => {
    expect([isVectorExpr(x), isVectorExpr({ ...x }), isVectorExpr(null)]).toEqual([
      true,
      false,
      false,
    ]);
    expect(() => ops.exp({ ...x })).toThrow(/an argument is an object, not a formula or a number/);
    expect(() => ops.exp(undefined as never)).toThrow(/an argument is undefined/);
  });

  it.each([
    ['dims that do not fit', () => ops.add(x, vi(1, 2)), 'DIM_MISMATCH', /dims 3 and 2/],
    ['a dim of 0', () => vi(0, 0), 'INVALID_ARGUMENT', /dim is 0.*leave empty inputs out/],
    ['a dim of 1.5', () => vi(0, 1.5), 'INVALID_ARGUMENT', /dim is 1.5/],
    ['a position below 0', () => vi(-1, 3), 'INVALID_ARGUMENT', /position is -1/],
    ['a power that is no integer', () => ops.pow(x, 0.5), 'INVALID_ARGUMENT', /exponent is 0.5/],
    ['an order that is no integer', () => ops.besselJ(x, 0.5), 'INVALID_ARGUMENT', /order is 0.5/],
    [
      'bounds that are no integers',
      () => ops.clampInt(x, 0.5, 1),
      'INVALID_ARGUMENT',
      /a bound is 0.5/,
    ],
    ['an element outside', () => ops.elem(x, 3), 'INVALID_ARGUMENT', /component is 3/],
    ['a negative element', () => ops.elem(x, -1), 'INVALID_ARGUMENT', /component is -1/],
    ['nothing to join', () => ops.concat(), 'DIM_MISMATCH', /no argument/],
    ['parts of different dims', () => ops.interleave(x, b), 'DIM_MISMATCH', /dims 3, 1/],
    ['a vector as a length', () => ops.softDtwSqDist(x, y, x), 'DIM_MISMATCH', /gamma has dim 3/],
    [
      'a complex sum of three',
      () => ops.complexSumT(ops.concat(b, b), 3),
      'DIM_MISMATCH',
      /wanted dim is 3/,
    ],
    ['a vast vector', () => ops.sumT(1, 2 ** 25), 'INVALID_ARGUMENT', /dim is 33554432/],
    [
      'no data',
      () => evaluateVector(x, []),
      'UNBOUND_VARIABLE',
      /input 0 has dim 3 and got no data/,
    ],
    ['a broken row', () => value(x, [[1, 2]]), 'UNBOUND_VARIABLE', /got 2 numbers/],
    [
      'a row that is not there',
      () => evaluateVector(x, [[1, 2, 3]], { i: 1 }),
      'INVALID_ARGUMENT',
      /1 row\(s\) and row 1/,
    ],
    [
      'a table replaced by a formula',
      () => substituteVector(ops.gather(x, b), new Map([[x, ops.exp(x)]])),
      'INVALID_ARGUMENT',
      /first argument is a 'elementwise' node/,
    ],
    [
      'a replacement of another dim',
      () => substituteVector(x, new Map([[x, b]])),
      'DIM_MISMATCH',
      /dim 3 is replaced by one of dim 1/,
    ],
  ] as const)('refuse %s', (_, call, code, message) => {
    expect(call).toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(message) as string }),
    );
  });
});

describe('substitution', () => {
  it('reaches the tables of rows by index, and their indices', () => {
    const f = ops.add(ops.gather(x, ops.gather(b, indexJ)), x);
    const moved = substituteVector(
      f,
      new Map<VectorExpr, VectorExpr>([
        [x, vj(5, 3)],
        [b, pm(6, 1)],
        [indexJ, indexI],
      ]),
    );
    expect(moved).toBe(ops.add(ops.gather(vj(5, 3), ops.gather(pm(6, 1), indexI)), vj(5, 3)));
  });
});

describe('evaluation', () => {
  it('reads the rows of i and j, and rows by index', () => {
    const data = [[1, 2, 3, 4], [10, 20], [5]];
    const f = ops.concat(vi(0, 2), vj(1, 1), b, indexI, indexJ);
    expect([...evaluateVector(f, data, { i: 1, j: 1 })]).toEqual([3, 4, 20, 5, 1, 1]);
    const row = (at: number): number[] => [...evaluateVector(ops.gather(vi(0, 2), at), data)];
    expect([row(0), row(1.4), row(2), row(-1)]).toEqual([
      [1, 2],
      [3, 4],
      [NaN, NaN],
      [NaN, NaN],
    ]);
  });

  it('takes the first extremum, and a NaN before all', () => {
    const of = (v: number[]): number[] => {
      const a = vi(0, v.length);
      return [
        ...evaluateVector(ops.concat(ops.max(a), ops.argMax(a), ops.min(a), ops.argMin(a)), [v]),
      ];
    };
    expect(of([1, 3, 3, 1])).toEqual([3, 1, 1, 0]);
    expect(of([1, NaN, 3, NaN])).toEqual([NaN, 1, NaN, 1]);
  });

  it('hands the gradient of an extremum to the first one', () => {
    const gradient = (f: VectorExpr): number[] => value(grad(f, x), [[3, 1, 3]]);
    expect(gradient(ops.max(x))).toEqual([1, 0, 0]);
    expect(gradient(ops.min(x))).toEqual([0, 1, 0]);
  });

  it('keeps out of range positions of OneHot out', () => {
    const at = (p: number): number[] => value(ops.oneHot(b, 3), [[], [], [p]]);
    expect([at(-0.6), at(-0.5), at(2.4), at(2.5), at(NaN), at(Infinity)]).toEqual([
      [0, 0, 0],
      [1, 0, 0],
      [0, 0, 1],
      [0, 0, 0],
      [0, 0, 0],
      [0, 0, 0],
    ]);
  });

  it('follows the conventions at kinks and poles', () => {
    const slope = (f: VectorExpr, at: number): number => value(grad(f, b), [[], [], [at]])[0]! + 0;
    expect(value(ops.rsqrt(b), [[], [], [0]])).toEqual([0]);
    expect(value(ops.xlogx(b), [[], [], [0]])).toEqual([0]);
    expect([
      slope(ops.relu(b), 0),
      slope(ops.abs(b), 0),
      slope(ops.sqrt(b), 0),
      slope(ops.xlogx(b), 0),
    ]).toEqual([1, 0, 0, 0]);
    expect([
      slope(ops.clamp(b, 0, 1), 0),
      slope(ops.clamp(b, 0, 1), 1),
      slope(ops.clamp(b, 0, 1), 2),
    ]).toEqual([1, 1, 0]);
    expect(slope(ops.atan2(b, ops.mul(2, b)), 0)).toBe(0);
    expect(slope(ops.sinXDivX(b), 0)).toBe(0);
    expect(slope(grad(ops.sinXDivX(b), b), 0)).toBeCloseTo(-1 / 3, 15);
    expect([slope(ops.logistic(b), -800), slope(ops.softplus(b), -800)]).toEqual([0, 0]);
    expect(slope(ops.logAddExp(b, 0), 0)).toBe(0.5);
    expect(slope(grad(ops.pow(b, 2), b), 0)).toBe(2);
    expect(slope(ops.ifElse(b, ops.mul(3, b), ops.mul(5, b)), 0)).toBe(3);
  });
});

describe('what a lowering reads', () => {
  it('scalar expressions of elementwise nodes, literals in place', () => {
    const text = (f: VectorExpr): string | undefined => {
      const expr = f.kind === 'elementwise' ? scalarOf(f) : undefined;
      return expr && print(expr);
    };
    expect(text(ops.mul(x, y))).toBe('x0 * x1');
    expect(text(ops.pow(x, 3))).toBe('x0 ^ 3');
    expect(text(ops.clamp(x, -1, b))).toBe('select(x0 < (-1), -1, select(x0 > x2, x2, x0))');
    expect(text(ops.lessThan(x, y))).toBe('select(x0 < x1, 1, 0)');
    expect(text(ops.where(x, y, 0))).toBe('select(x0 != 0, x1, 0)');
    expect(text(ops.erf(x))).toBe('erf(x0)');
    expect(text(ops.besselJ(x, 2))).toBe('besselJ(x0, 2)');
  });

  it('what changes with i, with j, with both', () => {
    const f = ops.mul(ops.exp(b), ops.add(ops.norm2(x), ops.dot(x, ops.sin(y))));
    const of = dependences(f);
    expect([ops.exp(b), ops.norm2(x), ops.sin(y), f, indexI].map((node) => of.get(node))).toEqual([
      'none',
      'i',
      'j',
      'pair',
      undefined,
    ]);
    const gathered = ops.gather(y, indexI);
    expect(dependences(gathered).get(gathered)).toBe('i');
  });

  it('inner products and distances', () => {
    expect(innerForm(ops.dot(x, y))).toEqual({ form: 'dot', args: [x, y] });
    expect(innerForm(parseFormula('SqDist(Vi(0, 3), Vj(1, 3))'))).toEqual({
      form: 'squaredDistance',
      args: [x, y],
    });
    expect(innerForm(ops.sqNorm2(x))).toEqual({ form: 'squaredNorm', args: [x] });
    expect(innerForm(simplifyVector(ops.sum(ops.mul(ops.sub(x, y), ops.sub(x, y)))))?.form).toBe(
      'squaredDistance',
    );
    expect(innerForm(ops.sum(x))).toBeUndefined();
    expect(innerForm(ops.sum(ops.mul(b, x)))).toBeUndefined();
  });

  it('the loops of a contraction, and the size of everything', () => {
    const node = ops.kron(ops.concat(x, y), ops.concat(b, b), [2, 3], [1, 2]);
    const { f, g, out, sizes } = axesOf(
      (node as Extract<VectorExpr, { kind: 'contract' }>).contraction,
    );
    expect([f, g, out]).toEqual([
      ['f0', 'f1'],
      ['g0', 'g1'],
      ['f0', 'g0', 'f1', 'g1'],
    ]);
    expect([...sizes.values()]).toEqual([2, 3, 1, 2]);
    expect(unrolledSize(ops.matVecMult(vi(0, 12), vj(1, 3)))).toBe(12 + 3 + 12);
    expect(unrolledSize(ops.sqDist(x, y))).toBe(3 * 5);
  });
});

describe('simplifyVector', () => {
  it.each([
    ['x + 0', 'x'],
    ['x + Zero(3)', 'x'],
    ['b + Zero(3)', 'SumT(b, 3)'],
    ['1 * x', 'x'],
    ['x * -1', '-x'],
    ['-(-x)', 'x'],
    ['-(x - y)', 'y - x'],
    ['x + -y', 'x - y'],
    ['x - -y', 'x + y'],
    ['x + x', '2 * x'],
    ['2 * x + 3 * x', '5 * x'],
    ['x * 2 * 3', '6 * x'],
    ['(2 * x) * (3 * y)', '6 * (x * y)'],
    ['x * x', 'Square(x)'],
    ['(-x) ** 2', 'Square(x)'],
    ['x ** 1', 'x'],
    ['x ** 0', 'SumT(1, 3)'],
    ['-x / -y', 'x / y'],
    ['2 ** 3 + 1', '9'],
    ['Sum(SumT(b, 4))', '4 * b'],
    ['Sum(2 * x)', '2 * Sum(x)'],
    ['Sum(-x)', '-Sum(x)'],
    ['Sum(b)', 'b'],
    ['Max(b)', 'b'],
    ['Sum(Concat(x, b))', 'Sum(x) + b'],
    ['SumT(b, 3) * x', 'b * x'],
    ['Exp(SumT(b, 3))', 'SumT(Exp(b), 3)'],
    ['Elem(Concat(x, y), 4)', 'Elem(y, 1)'],
    ['Extract(Extract(Concat(x, y), 1, 4), 2, 2)', 'Extract(y, 0, 2)'],
    ['Elem(ElemT(b, 3, 1), 1)', 'b'],
    ['Elem(ElemT(b, 3, 1), 2)', '0'],
    ['Extract(ExtractT(x, 2, 6), 3, 3)', 'ExtractT(Extract(x, 1, 2), 0, 3)'],
    ['ElemT(b, 3, 1) | x', 'b * Elem(x, 1)'],
    ['Interleave(ComplexReal(Concat(x, b)), ComplexImag(Concat(x, b)))', 'Concat(x, b)'],
    ['ComplexReal(Interleave(x, y))', 'x'],
    ['Where(1, x, y)', 'x'],
    ['Where(b, x, x)', 'x'],
  ])('%s is %s', (text, wanted) => {
    const names = { x, y, b };
    expect(printFormula(simplifyVector(parseFormula(text, names)), { names })).toBe(wanted);
  });

  it.each([
    '0 * x',
    'x - x',
    'x / x',
    'Zero(3) * x',
    'inf * Sum(x)',
    '3 * x - 2 * x',
    '-2 * x + 3 * x',
    'Sum(inf * x)',
    'Sum(0 * x)',
  ])('leaves %s, which needs finite values', (text) => {
    const names = { x };
    expect(printFormula(simplifyVector(parseFormula(text, names)), { names })).toBe(text);
  });
});

describe('defineOp', () => {
  const swish = defineOp('Swish', ['u', 'beta'], ({ u, beta }) =>
    ops.mul(u, ops.logistic(ops.mul(beta, u))),
  );

  it('composes nodes, differentiable to any order', () => {
    expect(swish(x, 1)).toBe(ops.mul(x, ops.logistic(ops.mul(1, x))));
    const second = grad(grad(swish(b, 1), b), b);
    // d2/dx2 x s(x) = s (1 - s) (2 + x (1 - 2 s))
    const s = 1 / (1 + Math.exp(-2));
    expect(value(second)[0]).toBeCloseTo(s * (1 - s) * (2 + 2 * (1 - 2 * s)), 14);
    expect([swish.opName, swish.argNames]).toEqual(['Swish', ['u', 'beta']]);
  });

  it.each([
    [
      'a built-in name',
      () => defineOp('Exp', ['u'], ({ u }) => u),
      /"Exp" is the name of a built-in/,
    ],
    ['no name', () => defineOp('a b', ['u'], ({ u }) => u), /"a b" is no name/],
    ['a name twice', () => defineOp('Two', ['u', 'u'], ({ u }) => u), /repeats a name/],
    [
      'an argument too few',
      () => (swish as (...a: unknown[]) => unknown)(x),
      /takes 2 argument\(s\) \(u, beta\) and got 1/,
    ],
    [
      'an expression that is none',
      () => defineOp('Bad', [], () => 'x' as never)(),
      /returned string. Return a formula/,
    ],
  ] as const)('refuses %s', (_, call, message) => {
    expect(call).toThrow(message);
  });
});
