import * as autodiff from '../differentiate/operators.js';
import type { ElementwiseOp } from '../elementwise/elementwise-op.js';
import { elementwiseArity } from '../elementwise/scalar-of.js';
import { elementwise, zero } from '../nodes.js';
import * as ops from '../operations/index.js';
import type { VectorExpr } from '../vector-expr.js';
import { ELEMENTWISE_NAMES } from './elementwise-names.js';
import { operation, type TextOperation } from './parameter-kind.js';

type Unary = (f: VectorExpr) => VectorExpr;
type Binary = (f: VectorExpr, g: VectorExpr) => VectorExpr;
const unary = (build: Unary): TextOperation => operation(['formula'], build);
const binary = (build: Binary): TextOperation => operation(['formula', 'formula'], build);

/** Elementwise operations without fixed numbers, from the table of their names. */
const PLAIN = Object.fromEntries(
  (Object.entries(ELEMENTWISE_NAMES) as [ElementwiseOp, string][]).flatMap(([op, name]) => {
    const arity = elementwiseArity(op);
    if (arity?.attributes !== 0) return [];
    const parameters = new Array<'formula'>(arity.args).fill('formula');
    return [[name, operation(parameters, (...args) => elementwise(op, args))]];
  }),
) as Record<string, TextOperation>;

const OTHERS = {
  // constants
  IntCst: operation(['int'], (n) => ops.constant(n)),
  IntInv: operation(['int'], (n) => ops.ratio(1, n)),
  RatCst: operation(['int', 'int'], ops.ratio),
  Zero: operation(['int'], zero),
  // arithmetic
  Scalprod: binary(ops.dot),
  Pow: operation(['formula', 'int'], ops.pow),
  Mod: operation(['formula', 'formula', 'formula?'], (x, n, offset) => ops.mod(x, n, offset)),
  ClampInt: operation(['formula', 'int', 'int'], ops.clampInt),
  DiffClampInt: operation(['formula', 'int', 'int'], ops.diffClampInt),
  Round: operation(['formula', 'int?'], (x, decimals) => ops.round(x, decimals)),
  Sinc: unary(ops.sinc),
  SinXDivX: operation(['formula', 'int?'], (x, order) => ops.sinXDivX(x, order)),
  LogAddExp: binary(ops.logAddExp),
  Polygamma: operation(['formula', 'int'], ops.polygamma),
  BesselJ: operation(['formula', 'int'], ops.besselJ),
  BesselK: operation(['formula', 'number'], ops.besselK),
  // components
  Sum: unary(ops.sum),
  Max: unary(ops.max),
  Min: unary(ops.min),
  ArgMax: unary(ops.argMax),
  ArgMin: unary(ops.argMin),
  SqNorm2: unary(ops.sqNorm2),
  Norm2: unary(ops.norm2),
  Normalize: unary(ops.normalize),
  SqDist: binary(ops.sqDist),
  WeightedSqNorm: binary(ops.weightedSqNorm),
  WeightedSqDist: operation(['formula', 'formula', 'formula'], ops.weightedSqDist),
  SqNormIso: binary(ops.sqNormIso),
  SqNormDiag: binary(ops.sqNormDiag),
  SymSqNorm: binary(ops.symSqNorm),
  // structure
  SumT: operation(['formula', 'int'], ops.sumT),
  Elem: operation(['formula', 'int'], ops.elem),
  ElemT: operation(['formula', 'int', 'int'], ops.elemT),
  Extract: operation(['formula', 'int', 'int', 'int?'], (f, start, length, step) =>
    ops.extract(f, start, length, step),
  ),
  ExtractT: operation(['formula', 'int', 'int', 'int?'], (f, start, n, step) =>
    ops.extractT(f, start, n, step),
  ),
  Concat: operation(['rest'], (args) => ops.concat(...args)),
  Interleave: operation(['rest'], (args) => ops.interleave(...args)),
  OneHot: operation(['formula', 'int'], ops.oneHot),
  Gather: operation(['input', 'formula'], ops.gather),
  BSpline: operation(['formula', 'formula', 'int'], ops.bSpline),
  SoftDTW_SqDist: operation(['formula', 'formula', 'formula'], ops.softDtwSqDist),
  // matrices
  MatVecMult: binary(ops.matVecMult),
  VecMatMult: binary(ops.vecMatMult),
  TensorProd: binary(ops.tensorProd),
  TensorDot: operation(
    ['formula', 'formula', 'ints', 'ints', 'ints', 'ints', 'ints?'],
    ops.tensorDot,
  ),
  Kron: operation(['formula', 'formula', 'ints', 'ints'], ops.kron),
  // complex
  Real2Complex: unary(ops.real2Complex),
  Imag2Complex: unary(ops.imag2Complex),
  ComplexReal: unary(ops.complexReal),
  ComplexImag: unary(ops.complexImag),
  ComplexAbs: unary(ops.complexAbs),
  ComplexSquareAbs: unary(ops.complexSquareAbs),
  ComplexAngle: unary(ops.complexAngle),
  Conj: unary(ops.conj),
  ComplexExp: unary(ops.complexExp),
  ComplexExp1j: unary(ops.complexExp1j),
  ComplexAdd: binary(ops.complexAdd),
  ComplexSubtract: binary(ops.complexSubtract),
  ComplexMult: binary(ops.complexMult),
  ComplexDivide: binary(ops.complexDivide),
  ComplexRealScal: binary(ops.complexRealScal),
  ComplexSum: unary(ops.complexSum),
  ComplexSumT: operation(['formula', 'int'], ops.complexSumT),
  // kernels of a squared distance
  RadialBesselK: operation(['formula', 'number'], ops.radialBesselK),
  RadialWendland: operation(['formula', 'int', 'int'], ops.radialWendland),
  RadialPower: operation(['formula', 'number'], ops.radialPower),
  RadialLog: operation(['formula', 'number'], ops.radialLog),
  Gaussian: binary(ops.gaussianKernel),
  Matern: operation(['formula', 'number', 'formula'], ops.maternKernel),
  Exponential: binary(ops.exponentialKernel),
  GeneralizedExponential: operation(
    ['formula', 'number', 'formula'],
    ops.generalizedExponentialKernel,
  ),
  RationalQuadratic: operation(['formula', 'number', 'formula'], ops.rationalQuadraticKernel),
  Cauchy: binary(ops.cauchyKernel),
  Multiquadric: binary(ops.multiquadricKernel),
  InverseMultiquadric: binary(ops.inverseMultiquadricKernel),
  Polyharmonic: operation(['formula', 'int'], ops.polyharmonicKernel),
  Wendland: operation(['formula', 'int', 'int', 'formula'], ops.wendlandKernel),
  // differentiation
  Grad: operation(['formula', 'input', 'formula?'], (f, v, e) => autodiff.grad(f, v, e)),
  Diff: operation(['formula', 'inputs', 'formulas'], autodiff.diff),
  GradMatrix: operation(['formula', 'input'], autodiff.gradMatrix),
  Divergence: operation(['formula', 'input'], autodiff.divergence),
  Laplacian: operation(['formula', 'input'], autodiff.laplacian),
  AdjointOperator: operation(['formula', 'input', 'formula'], autodiff.adjointOperator),
  TraceOperator: operation(['formula', 'input', 'formula?'], (f, v, w) =>
    autodiff.traceOperator(f, v, w),
  ),
  SumLinOperator: operation(['formula', 'input', 'formula?', 'formula?'], (f, v, wl, wr) =>
    autodiff.sumLinOperator(f, v, wl, wr),
  ),
  // Equal parts of a formula are one node already: there is nothing left to factor out.
  Factorize: binary((f) => f),
  AutoFactorize: unary((f) => f),
} satisfies Record<string, TextOperation>;

/** Every operation that text may name: the only functions that it can reach. */
export const OPERATIONS: ReadonlyMap<string, TextOperation> = new Map(
  Object.entries<TextOperation>({ ...PLAIN, ...OTHERS }),
);
