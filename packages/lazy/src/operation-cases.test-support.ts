import type { LazyTensor } from './index.js';

/** The variables of the cases: category, dim, and the range of their numbers. */
export const VARIABLES = {
  a: ['i', 3, 0.1, 0.9],
  b: ['j', 3, 0.1, 0.9],
  c: ['i', 1, 0.2, 0.8],
  d: ['j', 1, 0.2, 0.8],
  p: ['parameter', 3, 0.5, 1.5],
  s: ['parameter', 1, 0.5, 1.5],
  m: ['j', 9, -1, 1],
  knots: ['parameter', 6, 0, 1],
} as const;

export type VariableName = keyof typeof VARIABLES;

/** A method, its variables in the order of their appearance, and what it is in KeOps' language. */
export interface OperationCase {
  readonly method: string;
  readonly variables: readonly VariableName[];
  readonly build: (...variables: readonly LazyTensor[]) => LazyTensor;
  readonly text: string;
}

const unary = (method: keyof LazyTensor & string, text: string): OperationCase => ({
  method,
  variables: ['a'],
  build: (a) => (a[method] as () => LazyTensor).call(a),
  text: `${text}(a)`,
});

const binary = (method: keyof LazyTensor & string, text: string): OperationCase => ({
  method,
  variables: ['a', 'b'],
  build: (a, b) => (a[method] as (other: LazyTensor | undefined) => LazyTensor).call(a, b),
  text,
});

const one = (
  method: string,
  variables: readonly VariableName[],
  build: OperationCase['build'],
  text: string,
): OperationCase => ({ method, variables, build, text });

/** Every method that makes a formula. */
export const OPERATION_CASES: readonly OperationCase[] = [
  unary('neg', 'Minus'),
  unary('abs', 'Abs'),
  unary('exp', 'Exp'),
  unary('log', 'Log'),
  unary('xlogx', 'XLogX'),
  unary('log1p', 'Log1p'),
  unary('expm1', 'Expm1'),
  unary('square', 'Square'),
  unary('inv', 'Inv'),
  unary('sqrt', 'Sqrt'),
  unary('rsqrt', 'Rsqrt'),
  unary('sin', 'Sin'),
  unary('cos', 'Cos'),
  unary('tan', 'Tan'),
  unary('asin', 'Asin'),
  unary('acos', 'Acos'),
  unary('atan', 'Atan'),
  unary('sinh', 'Sinh'),
  unary('cosh', 'Cosh'),
  unary('tanh', 'Tanh'),
  unary('sinc', 'Sinc'),
  unary('sinxdivx', 'SinXDivX'),
  unary('sign', 'Sign'),
  unary('step', 'Step'),
  unary('relu', 'ReLU'),
  unary('floor', 'Floor'),
  unary('ceil', 'Ceil'),
  unary('logistic', 'Logistic'),
  unary('softplus', 'Softplus'),
  unary('erf', 'Erf'),
  unary('erfc', 'Erfc'),
  unary('lgamma', 'Lgamma'),
  unary('round', 'Round'),
  one('round', ['a'], (a) => a.round(2), 'Round(a, 2)'),
  one('polygamma', ['a'], (a) => a.polygamma(1), 'Polygamma(a, 1)'),
  one('besselJ', ['a'], (a) => a.besselJ(2), 'BesselJ(a, 2)'),
  one('besselK', ['a'], (a) => a.besselK(0.5), 'BesselK(a, 0.5)'),
  binary('add', 'a + b'),
  binary('sub', 'a - b'),
  binary('mul', 'a * b'),
  binary('div', 'a / b'),
  binary('minimum', 'Minimum(a, b)'),
  binary('maximum', 'Maximum(a, b)'),
  binary('eq', 'a == b'),
  binary('ne', 'a != b'),
  binary('lt', 'a < b'),
  binary('le', 'a <= b'),
  binary('gt', 'a > b'),
  binary('ge', 'a >= b'),
  binary('atan2', 'Atan2(a, b)'),
  binary('logAddExp', 'LogAddExp(a, b)'),
  binary('pow', 'Powf(a, b)'),
  one('pow', ['a'], (a) => a.pow(3), 'a ** 3'),
  one('pow', ['a'], (a) => a.pow(2), 'Square(a)'),
  one('pow', ['a'], (a) => a.pow(0.5), 'Sqrt(a)'),
  one('pow', ['a'], (a) => a.pow(-0.5), 'Rsqrt(a)'),
  one('pow', ['a'], (a) => a.pow(1.5), 'Powf(a, 1.5)'),
  one('mod', ['a', 's'], (a, s) => a.mod(s), 'Mod(a, s)'),
  one('mod', ['a', 's'], (a, s) => a.mod(s, 0.25), 'Mod(a, s, 0.25)'),
  one('clamp', ['a', 'b'], (a, b) => a.clamp(b, 0.7), 'Clamp(a, b, 0.7)'),
  one('ifelse', ['a', 'b'], (a, b) => a.sub(b).ifelse(a, b), 'IfElse(a - b, a, b)'),
  one('where', ['a', 'b'], (a, b) => a.lt(b).where(1, b), 'Where(a < b, 1, b)'),
  unary('sum', 'Sum'),
  unary('min', 'Min'),
  unary('max', 'Max'),
  unary('argMin', 'ArgMin'),
  unary('argMax', 'ArgMax'),
  binary('dot', 'a | b'),
  unary('sqnorm2', 'SqNorm2'),
  unary('norm2', 'Norm2'),
  unary('norm', 'Norm2'),
  unary('normalize', 'Normalize'),
  binary('sqdist', 'SqDist(a, b)'),
  one('weightedSqnorm', ['a', 'p'], (a, p) => a.weightedSqnorm(p), 'WeightedSqNorm(p, a)'),
  one('weightedSqnorm', ['a', 'm'], (a, m) => a.weightedSqnorm(m), 'SymSqNorm(m, a)'),
  one(
    'weightedSqdist',
    ['a', 'b', 's'],
    (a, b, s) => a.weightedSqdist(b, s),
    'WeightedSqDist(s, a, b)',
  ),
  one(
    'softDtwSqdist',
    ['a', 'b', 's'],
    (a, b, s) => a.softDtwSqdist(b, s),
    'SoftDTW_SqDist(a, b, s)',
  ),
  one('elem', ['a'], (a) => a.elem(2), 'Elem(a, 2)'),
  one('extract', ['a'], (a) => a.extract(1, 2), 'Extract(a, 1, 2)'),
  one('elemT', ['c'], (c) => c.elemT(4, 1), 'ElemT(c, 4, 1)'),
  one('extractT', ['a'], (a) => a.extractT(1, 5), 'ExtractT(a, 1, 5)'),
  one('repeat', ['c'], (c) => c.repeat(3), 'SumT(c, 3)'),
  one('oneHot', ['c'], (c) => c.mul(4).oneHot(4), 'OneHot(c * 4, 4)'),
  one('concat', ['a', 'd'], (a, d) => a.concat(d, 7), 'Concat(a, d, 7)'),
  one('bspline', ['knots', 'c'], (knots, c) => knots.bspline(c, 2), 'BSpline(knots, c, 2)'),
  one('matvecmult', ['m', 'a'], (m, a) => m.matvecmult(a), 'MatVecMult(m, a)'),
  one('vecmatmult', ['a', 'm'], (a, m) => a.vecmatmult(m), 'VecMatMult(a, m)'),
  one('tensorprod', ['a', 'b'], (a, b) => a.tensorprod(b), 'TensorProd(a, b)'),
  one(
    'tensordot',
    ['m', 'a'],
    (m, a) => m.tensordot(a, [3, 3], [3], [0], [0]),
    'TensorDot(m, a, [3, 3], [3], [0], [0])',
  ),
  one('kron', ['a', 'b'], (a, b) => a.kron(b, [3, 1], [1, 3]), 'Kron(a, b, [3, 1], [1, 3])'),
  one('grad', ['a', 'b'], (a, b) => a.sqdist(b).exp().grad(a), 'Grad(Exp(SqDist(a, b)), a, 1)'),
  one('grad', ['a', 'b', 'c'], (a, b, c) => a.sqdist(b).grad(b, c), 'Grad(SqDist(a, b), b, c)'),
  one('diff', ['a', 'p'], (a, p) => a.square().diff(a, p), 'Diff(Square(a), a, p)'),
  one('gradMatrix', ['a', 'b'], (a, b) => a.mul(b).gradMatrix(a), 'GradMatrix(a * b, a)'),
  one('divergence', ['a', 'b'], (a, b) => a.mul(b).divergence(a), 'Divergence(a * b, a)'),
  one('laplacian', ['a', 'b'], (a, b) => a.sqdist(b).laplacian(a), 'Laplacian(SqDist(a, b), a)'),
];
