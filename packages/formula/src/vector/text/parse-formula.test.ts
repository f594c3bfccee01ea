import { describe, expect, it } from 'vitest';
import {
  defineOp,
  evaluateVector,
  indexI,
  indexJ,
  ops,
  parseAliases,
  parseFormula,
  pm,
  vi,
  vj,
} from '../../index.js';

const [x, y, b, z] = [vi(0, 3), vj(1, 3), pm(2, 1), vi(3, 2)];
const NAMES = { x, y, b, z };
const read = (text: string): ReturnType<typeof parseFormula> => parseFormula(text, NAMES);

describe('precedence, as in Python', () => {
  it.each([
    ['-x ** 2', '-(x ** 2)'],
    ['2 ** -1', '2 ** (-1)'],
    ['2 ** 3 ** 2', '2 ** (3 ** 2)'],
    ['-x * y', '(-x) * y'],
    ['x * -y', 'x * (-y)'],
    ['x - y - b', '(x - y) - b'],
    ['x / y * b', '(x / y) * b'],
    ['x / y / b', '(x / y) / b'],
    ['x + y * b', 'x + (y * b)'],
    ['x * y ** 2', 'x * (y ** 2)'],
    ['x | y + x', 'x | (y + x)'],
    ['x - y | x', '(x - y) | x'],
    ['x | y * b', 'x | (y * b)'],
    ['x | y < b', '(x | y) < b'],
    ['x + b <= y * b', '(x + b) <= (y * b)'],
    ['- - x', '-(-x)'],
    ['+x', 'x'],
    ['x - -y', 'x - (-y)'],
    ['-x | y', '(-x) | y'],
    ['x == y + 1', 'x == (y + 1)'],
    ['2 * x ** -b', '2 * (x ** (-b))'],
  ])('%s is %s', (text, grouped) => {
    expect(read(text)).toBe(read(grouped));
  });

  it('groups otherwise where brackets say so', () => {
    expect(read('(x | y) * b')).toBe(ops.mul(ops.dot(x, y), b));
    expect(read('(-x) ** 2')).toBe(ops.square(ops.neg(x)));
    expect(read('x - (y - b)')).not.toBe(read('x - y - b'));
    expect(() => read('x < y < b')).toThrow(/no second comparison.*parentheses/);
  });
});

describe('names, numbers and inputs', () => {
  it('reads every spelling of an input', () => {
    for (const text of ['Vi(0, 3)', 'Vx(0,3)', 'Var(0, 3, 0)', 'x']) expect(read(text)).toBe(x);
    for (const text of ['Vj(1, 3)', 'Vy(1,3)', 'Var(1,3,1)']) expect(read(text)).toBe(y);
    for (const text of ['Pm(2, 1)', 'Var(2, 1, 2)']) expect(read(text)).toBe(b);
    expect([read('Index_i'), read('Index_j')]).toEqual([indexI, indexJ]);
  });

  it('reads aliases with and without positions', () => {
    const aliases = parseAliases(['x = Vi(3)', ' y=Vj( 1 , 3 ) ', 'b = Pm(1)']);
    expect([...aliases]).toEqual([
      ['x', x],
      ['y', y],
      ['b', b],
    ]);
    expect(parseFormula('x', ['x = Var(5, 2, 1)'])).toBe(vj(5, 2));
  });

  it('reads numbers as floats of full precision', () => {
    for (const text of ['3', '3.', '.5', '3.25e-4', '1E3', '0.1', '16777217', '1e-320']) {
      expect(evaluateVector(parseFormula(text), [])[0]).toBe(Number(text));
    }
    expect(parseFormula('IntCst(16777217)')).toBe(parseFormula('16777217'));
    expect(evaluateVector(parseFormula('RatCst(1, 3)'), [])[0]).toBe(1 / 3);
    expect(parseFormula('-inf')).toBe(parseFormula('-(inf)'));
  });

  it('reads named parts', () => {
    expect(read('d = x - y; s = d | d; Exp(-s)')).toBe(read('Exp(-Scalprod(x - y, x - y))'));
    expect(() => read('x = y; x')).toThrow(/position 0: the name "x" is taken/);
    expect(() => read('Exp = y; x')).toThrow(/"Exp" is taken/);
    expect(() => read('d = y x')).toThrow(/';' after a named part/);
  });

  it('reads lists in every spelling', () => {
    const wanted = ops.tensorDot(z, z, [2], [2], [0], [0]);
    for (const text of [
      'TensorDot(z,z,[2],[2],[0],[0])',
      'TensorDot(z, z, (2,), (2,), (0,), (0,))',
      'TensorDot(z,z,Ind(2),Ind(2),Ind(0),Ind(0))',
    ]) {
      expect(read(text)).toBe(wanted);
    }
  });

  it('calls operations of defineOp', () => {
    const pair = defineOp('Pair', ['u', 'v'], ({ u, v }) => ops.concat(v, u));
    const options = { operations: [pair] };
    expect(parseFormula('Pair(x, 2 * y)', NAMES, options)).toBe(ops.concat(ops.mul(2, y), x));
    expect(() => parseFormula('Pair(x)', NAMES, options)).toThrow(/Pair takes 2 argument/);
    expect(() => parseFormula('x', NAMES, { operations: [pair, pair] })).toThrow(
      /two operations of the name 'Pair'/,
    );
    expect(() => read('Pair(x, y)')).toThrow(/no operation "Pair"/);
  });
});

describe('wrong text', () => {
  it.each([
    ['', /position 0: found the end of the text, expected a number, a name or a bracket/],
    ['Exp(x', /position 5: found the end of the text, expected '\)'/],
    ['Exp x', /position 4: found "x", expected '\(' after Exp/],
    ['Exp()', /position 4: found "\)", expected Exp takes 1 argument/],
    ['Exp(x, y)', /position 5: found ",", expected '\)': Exp takes 1 argument/],
    ['SqDist(x)', /SqDist takes 2 argument/],
    ['x y', /position 2: found "y", expected an operator or the end.*product is written with '\*'/],
    ['2x', /position 1: found "x".*product/],
    ['x ^ 2', /position 2: found "\^".*written with '\*\*'/],
    ['x + * y', /position 4: found "\*"/],
    ['(x, y)', /position 2: found ",", expected '\)'.*tuple/],
    ['x)', /position 1: found "\)"/],
    ['SqDsit(x, y)', /no operation "SqDsit"\. Did you mean "SqDist"/],
    ['exp(x)', /no operation "exp"\. Did you mean "Exp"/],
    [
      'SqDist(x, w)',
      /position 10: the name "w" is not defined\. Add an alias such as 'w = Vi\(0, 3\)'/,
    ],
    ['Exp(xx)', /the name "xx" is not defined\. Did you mean "x"/],
    [
      'Elem(x, 1.5)',
      /position 8: found "1.5", expected an integer, written out, as an argument of Elem/,
    ],
    ['Elem(x, b)', /expected an integer/],
    ['Kron(x, y, 3, 2)', /position 11: found "3", expected a list of integers such as \[2, 3\]/],
    ['Vi(3)', /position 4: found "\)", expected Vi\(position, dim\).*needs its position/],
    [
      'Var(0, 3)',
      /expected Var\(position, dim, category\) with category 0 \(i\), 1 \(j\), 2 \(parameter\) or 3/,
    ],
    ['Var(0, 3, 4)', /category 0 \(i\), 1 \(j\), 2 \(parameter\) or 3 \(pair\)/],
    ['Vi(-1, 3)', /found "-", expected a whole number that is not negative/],
    ['Sum_Reduction(x, 0)', /read by parseReduction/],
    ['x ? y', /found "\?", which is no part of the language/],
    ['x; y', /position 1: found ";"/],
    [
      'Grad(x, 3 * x, x)',
      /Grad: it differentiates by an input and got a 'elementwise' node.*position 0: "Grad\(x, 3 \* x, x\)"/,
    ],
  ])('%j says where, what was found and what was expected', (text, message) => {
    expect(() => read(text)).toThrow(message);
  });

  it.each([
    ['x + z', 'DIM_MISMATCH', /dims 3 and 2.*position 0: "x \+ z"/],
    ['1 + Exp(x * z)', 'DIM_MISMATCH', /dims 3 and 2.*position 8: "x \* z"/],
    ['x | b', 'DIM_MISMATCH', /dims 3 and 1.*inner product/],
    ['Elem(x, 3)', 'INVALID_ARGUMENT', /3 and must be an integer from 0 to 2/],
    ['Extract(x, 1, 3)', 'DIM_MISMATCH', /component 3 of a vector of dim 3/],
    ['SumT(x, 2)', 'DIM_MISMATCH', /argument has dim 3/],
    ['MatVecMult(x, z)', 'DIM_MISMATCH', /matrix has 3 entries and the vector has dim 2/],
    ['TensorDot(x, y, [3], [4], [0], [0])', 'DIM_MISMATCH', /dim 3 and shape \[4\]/],
    ['TensorDot(x, z, [3], [2], [0], [0])', 'DIM_MISMATCH', /sizes \[3\] and \[2\]/],
    [
      'TensorDot(x, y, [3], [3], [], [], [0, 0])',
      'INVALID_ARGUMENT',
      /not a permutation of the 2 kept axes/,
    ],
    ['TensorDot(x, y, [3], [3], [1], [0])', 'INVALID_ARGUMENT', /not axes of the first argument/],
    ['Kron(x, y, [3], [1, 3])', 'DIM_MISMATCH', /1 and 2 axes/],
    ['ComplexMult(x, x)', 'DIM_MISMATCH', /dim 3.*even dim/],
    ['WeightedSqNorm(z, x)', 'DIM_MISMATCH', /weight has dim 2 and the vector has dim 3/],
    ['Matern(x, 1.5, b)', 'DIM_MISMATCH', /squared distance has dim 3/],
    ['Matern(x | y, 0, b)', 'INVALID_ARGUMENT', /nu is 0/],
    ['OneHot(x, 4)', 'DIM_MISMATCH', /position has dim 3/],
    ['BSpline(x, b, 2)', 'DIM_MISMATCH', /3 knots for order 2.*at least 4/],
    ['Gather(x + 1, b)', 'INVALID_ARGUMENT', /first argument is a 'elementwise' node/],
    ['RatCst(1, 0)', 'INVALID_ARGUMENT', /denominator is 0/],
    ['Vi(0, 0)', 'INVALID_ARGUMENT', /dim is 0.*at least one component/],
    ['Vi(0, 2)', 'INVALID_ARGUMENT', undefined],
    ['x + Vj(0, 3)', 'INVALID_ARGUMENT', /Vi\(0, 3\) and Vj\(0, 3\) have the same position/],
  ])('%j names dims and place', (text, code, message) => {
    const run = (): unknown => (message === undefined ? read(`${text} + Sum(x)`) : read(text));
    expect(run).toThrow(
      expect.objectContaining({
        code,
        ...(message && { message: expect.stringMatching(message) as string }),
      }),
    );
  });

  it.each([
    ['x', /expected '=' after the name 'x'/],
    ['x = 3', /found "3", expected Vi, Vj, Vij, Pm or Var/],
    ['x = Vi(0)', /dim is 0/],
    ['x = Vi()', /found "\)", expected a whole number/],
    ['x = Vi(0, 3) y', /expected the end of the alias/],
    ['3 = Vi(3)', /expected a name/],
    ['Exp = Vi(3)', /"Exp" is taken/],
    ['nan = Vi(3)', /"nan" is taken/],
    [`${'x'.repeat(65)} = Vi(3)`, /is no name/],
  ])('refuses the alias %j', (alias, message) => {
    expect(() => parseAliases([alias])).toThrow(message);
  });

  it.each(['x = Vi(3)', undefined, null, 3])('refuses aliases that are %j', (aliases) => {
    expect(() => parseAliases(aliases as never)).toThrow(
      /cannot read the aliases: they are .*Pass a list of texts, such as \['x = Vi\(3\)'/,
    );
  });

  it('refuses aliases that clash', () => {
    expect(() => parseAliases(['x = Vi(3)', 'x = Vj(3)'])).toThrow(/"x" is taken/);
    expect(() => parseAliases(['x = Vi(1, 3)', 'y = Vj(3)'])).toThrow(/same position/);
    expect(() => parseAliases({ x: ops.exp(1) as never })).toThrow(/stands for no input/);
  });
});
