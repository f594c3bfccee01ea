import { parseFormula, unrolledSize, vectorEvaluator } from '@mercer/formula/plan';
import { tensor, type Device, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { genred, type LazyAxis, type LazyDType } from '../index.js';
import { OPERATION_CASES, VARIABLES } from '../operation-cases.test-support.js';
import { numbers } from '../reference.test-support.js';
import { numbersOf } from './oracle.test-support.js';

const [M, N] = [4, 5];

/** The variables by name: category, dim, range. Those of the operations, complex ones, and the cotangent, last. */
const INPUTS = {
  ...VARIABLES,
  z: ['i', 4, 0.3, 1],
  w: ['j', 4, 0.3, 1],
  u: ['i', 2, 0.3, 1],
  t: ['i', 4, -0.9, 0.9],
  e: ['parameter', 16, -1, 1],
} as const;

type InputName = keyof typeof INPUTS;
const NAMES = Object.keys(INPUTS) as InputName[];
const KIND = { i: 'Vi', j: 'Vj', parameter: 'Pm' } as const;
const ALIASES = NAMES.map((name) => `${name} = ${KIND[INPUTS[name][0]]}(${INPUTS[name][1]})`);

/** Operations of the text alone, and arguments of other kinds. */
const TEXTS: readonly [text: string, ...variables: InputName[]][] = [
  ['a + c', 'c'],
  ['a * d', 'd'],
  ['s / b', 's', 'b'],
  ['Powf(c, b)', 'c', 'b'],
  ['Pow(t, 3)', 't'],
  ['IntCst(3) * a + RatCst(2, 3) * b + IntInv(4) * c', 'a', 'b', 'c'],
  ['Clamp(a, c, d)', 'a', 'c', 'd'],
  ['ClampInt(2 * t, -1, 1)', 't'],
  ['DiffClampInt(2 * t, -1, 1)', 't'],
  ['Abs(t)', 't'],
  ['ReLU(t)', 't'],
  ['Step(t)', 't'],
  ['Mod(t, s, d)', 't', 's', 'd'],
  ['IfElse(t, z, w)', 't', 'z', 'w'],
  ['SqNormIso(s, a)', 's', 'a'],
  ['SqNormDiag(p, b)', 'p', 'b'],
  ['WeightedSqDist(p, a, b)', 'p', 'a', 'b'],
  ['WeightedSqDist(m, a, b)', 'm', 'a', 'b'],
  ['Interleave(a, b)', 'a', 'b'],
  ['TensorDot(m, m, [3, 3], [3, 3], [0], [1], [1, 0])', 'm'],
  ['Real2Complex(a)', 'a'],
  ['Imag2Complex(a)', 'a'],
  ['ComplexReal(z)', 'z'],
  ['ComplexImag(z)', 'z'],
  ['ComplexAbs(z)', 'z'],
  ['ComplexSquareAbs(z)', 'z'],
  ['ComplexAngle(t)', 't'],
  ['Conj(z)', 'z'],
  ['ComplexExp(z)', 'z'],
  ['ComplexExp1j(a)', 'a'],
  ['ComplexAdd(z, w)', 'z', 'w'],
  ['ComplexSubtract(z, w)', 'z', 'w'],
  ['ComplexMult(z, w)', 'z', 'w'],
  ['ComplexMult(u, w)', 'u', 'w'],
  ['ComplexDivide(z, w)', 'z', 'w'],
  ['ComplexRealScal(c, w)', 'c', 'w'],
  ['ComplexSum(z)', 'z'],
  ['ComplexSumT(u, 6)', 'u'],
  ['Gaussian(SqDist(a, b), s)', 'a', 'b', 's'],
  ['Matern(SqDist(a, b), 2.5, s)', 'a', 'b', 's'],
  ['Wendland(SqDist(a, b), 3, 2, 2 * s)', 'a', 'b', 's'],
];

/** KeOps' operations on numbers and vectors that have a name in text, its derivative operators apart. */
const KEOPS =
  'Abs Acos Asin Atan Atan2 BSpline Clamp ClampInt Concat Cos DiffClampInt Elem ElemT Exp Extract ExtractT Floor IfElse ' +
  'IntCst IntInv Inv Kron Log MatVecMult Max Min ArgMax ArgMin Minus Mod Norm2 Normalize OneHot Pow Powf RatCst ReLU Round Rsqrt ' +
  'Sign Sin SinXDivX SoftDTW_SqDist SqDist SqNorm2 SqNormDiag SqNormIso Sqrt Square Step Sum SumT SymSqNorm TensorDot ' +
  'TensorProd VecMatMult WeightedSqDist WeightedSqNorm XLogX Real2Complex Imag2Complex ComplexReal ComplexImag ComplexAbs ' +
  'ComplexSquareAbs ComplexAngle Conj ComplexExp ComplexExp1j ComplexAdd ComplexSubtract ComplexMult ComplexDivide ' +
  'ComplexRealScal ComplexSum ComplexSumT';

/** An operation and an argument that it is differentiated by. */
interface Derivative {
  readonly text: string;
  readonly by: InputName;
}

const DERIVATIVES: readonly Derivative[] = [
  ...new Map(
    OPERATION_CASES.map(({ text, variables }) => [text, [text, ...variables] as const]),
  ).values(),
  ...TEXTS,
].flatMap(([text, ...variables]) =>
  variables
    // The row that is taken by index is another input than the row itself.
    .filter((by) => !(text.startsWith('Gather') && by === 'p'))
    .map((by) => ({ text, by })),
);

const gradientText = ({ text, by }: Derivative): string =>
  `Grad(${text}, ${by}, Extract(e, 0, ${parseFormula(text, ALIASES).dim}))`;

const rowsOf = (name: InputName): number => ({ i: M, j: N, parameter: 1 })[INPUTS[name][0]];

const DATA = NAMES.map((name, seed) => {
  const [, dim, low, high] = INPUTS[name];
  const { values } = numbers(200 + seed, rowsOf(name), dim, { low, high });
  return name === 'knots' ? values.sort() : values;
});

/** The side that is summed: the other one than the argument's. */
const axisOf = ({ by }: Derivative): LazyAxis => (INPUTS[by][0] === 'j' ? 'i' : 'j');

/** The sums of the gradient over a side, row by row of the other, by central differences of the values in float64. */
function differences({ text, by }: Derivative): number[][] {
  const evaluate = vectorEvaluator(parseFormula(text, ALIASES));
  const [category, dim] = INPUTS[by];
  const [place, e] = [NAMES.indexOf(by), DATA[NAMES.indexOf('e')]!];
  const step = 1e-5;
  const energy = (i: number, j: number, at: number, change: number): number => {
    const moved = DATA.with(place, DATA[place]!.with(at, DATA[place]![at]! + change));
    return evaluate(moved, i, j).reduce((sum, value, k) => sum + value * (e[k] ?? NaN), 0);
  };
  const slope = (i: number, j: number, c: number): number => {
    const at = { i, j, parameter: 0 }[category] * dim + c;
    return (energy(i, j, at, step) - energy(i, j, at, -step)) / (2 * step);
  };
  const [kept, reduced] = category === 'j' ? [N, M] : [M, N];
  return Array.from({ length: kept }, (_, row) =>
    Array.from({ length: dim }, (__, c) => {
      let sum = 0;
      for (let other = 0; other < reduced; other++) {
        sum += category === 'j' ? slope(other, row, c) : slope(row, other, c);
      }
      return sum;
    }),
  );
}

/** Derivatives side by side in few formulas: as many as one kernel writes out. */
function grouped(all: readonly Derivative[]): Derivative[][] {
  const groups: Derivative[][] = [];
  let [size, dim] = [Infinity, 0];
  for (const one of all) {
    const own = unrolledSize(parseFormula(gradientText(one), ALIASES));
    if (size + own > 900 || dim + INPUTS[one.by][1] > 64) {
      groups.push([]);
      [size, dim] = [0, 0];
    }
    groups.at(-1)?.push(one);
    [size, dim] = [size + own, dim + INPUTS[one.by][1]];
  }
  return groups;
}

/** The gradient of every operation by every argument, as kernels compute it, is what differences of its values show. */
export function describeOperationGradients(
  device: () => Device,
  dtypes: readonly LazyDType[] = ['float64'],
): void {
  describe('gradients of operations', () => {
    it('are those of every operation of KeOps', () => {
      const texts = DERIVATIVES.map(({ text }) => text).join(' ');
      const missing = KEOPS.split(' ').filter((name) => !new RegExp(`\\b${name}\\(`).test(texts));
      expect(missing).toEqual([]);
    });

    const cases = (['i', 'j'] as const).flatMap((axis) =>
      grouped(DERIVATIVES.filter((one) => axisOf(one) === axis)).flatMap((group) =>
        dtypes.map((dtype) => ({
          axis,
          dtype,
          group,
          from: group[0]?.text,
          to: group.at(-1)?.text,
        })),
      ),
    );
    it.each(cases)('over $axis in $dtype: $from to $to', async ({ axis, dtype, group }) => {
      const inputs: Tensor[] = [];
      for (const [at, name] of NAMES.entries()) {
        const [category, dim] = INPUTS[name];
        const shape = category === 'parameter' ? [dim] : [rowsOf(name), dim];
        inputs.push(await tensor(DATA[at]!, { shape, dtype, device: device() }));
      }
      const of = genred(`Concat(${group.map(gradientText).join(', ')})`, ALIASES, { axis });
      const found = await numbersOf(await of(...inputs));
      const columns = group.reduce((sum, { by }) => sum + INPUTS[by][1], 0);
      expect(found).toHaveLength((axis === 'j' ? M : N) * columns);
      const wrong: string[] = [];
      let column = 0;
      for (const one of group) {
        const all = differences(one);
        // Differences err by a share of the largest number.
        const largest = Math.max(...all.flat().map(Math.abs));
        const tolerance = (dtype === 'float64' ? 1e-6 : 1e-4) * largest;
        for (const [row, wanted] of all.entries()) {
          for (const [c, want] of wanted.entries()) {
            const got = found[row * columns + column + c] ?? NaN;
            if (Math.abs(got - want) <= tolerance) continue;
            wrong.push(`${one.text} by ${one.by}: ${got}, not ${want}`);
          }
        }
        column += INPUTS[one.by][1];
      }
      expect(wrong).toEqual([]);
    });
  });
}
