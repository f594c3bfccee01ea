import type { DType } from '@mercer/kernels';
import { attachMethods, type AttachedMethod } from '../attach-methods.js';
import { elementwise, type ElementwiseOptions, type Use } from './elementwise.js';
import { OPERATORS, type OperatorName } from './operators.js';
import type {
  CommonDType,
  CommonMethod,
  ComparisonMethod,
  Elementwise,
  FloatingMethod,
  FloatingUnaryMethod,
  Operand,
  OperandKind,
  SameMethod,
  TruthMethod,
} from './result-types.js';

/** Elementwise operations as methods; each is also a function of that name, where the docstring of its group is. */
export interface ElementwiseMethods<D extends DType> {
  readonly add: CommonMethod<D>;
  readonly sub: CommonMethod<D>;
  readonly mul: CommonMethod<D>;
  /** The remainder with the divisor's sign, as numpy's: x - y floor(x / y). */
  readonly mod: CommonMethod<D>;
  /** `x ^ y`; a whole exponent given as a number up to 8 is a product. */
  readonly pow: CommonMethod<D>;
  /** The smaller; NaN where either is. */
  readonly minimum: CommonMethod<D>;
  /** The larger; NaN where either is. */
  readonly maximum: CommonMethod<D>;
  readonly div: FloatingMethod<D>;
  /** The angle of the point (other, this). */
  readonly atan2: FloatingMethod<D>;
  readonly neg: SameMethod<D>;
  readonly abs: SameMethod<D>;
  /** -1, 0 or 1; NaN of NaN. */
  readonly sign: SameMethod<D>;
  readonly square: SameMethod<D>;
  readonly relu: SameMethod<D>;
  readonly floor: SameMethod<D>;
  readonly ceil: SameMethod<D>;
  /** To the nearest whole number, to the even one of two. */
  readonly round: SameMethod<D>;
  readonly reciprocal: FloatingUnaryMethod<D>;
  readonly exp: FloatingUnaryMethod<D>;
  readonly expm1: FloatingUnaryMethod<D>;
  readonly log: FloatingUnaryMethod<D>;
  readonly log2: FloatingUnaryMethod<D>;
  readonly log10: FloatingUnaryMethod<D>;
  readonly log1p: FloatingUnaryMethod<D>;
  readonly sqrt: FloatingUnaryMethod<D>;
  /** `1 / sqrt(x)`, and 0 at 0 by convention, so that the gradient of a norm at 0 is 0. */
  readonly rsqrt: FloatingUnaryMethod<D>;
  readonly sin: FloatingUnaryMethod<D>;
  readonly cos: FloatingUnaryMethod<D>;
  readonly tan: FloatingUnaryMethod<D>;
  readonly asin: FloatingUnaryMethod<D>;
  readonly acos: FloatingUnaryMethod<D>;
  readonly atan: FloatingUnaryMethod<D>;
  readonly sinh: FloatingUnaryMethod<D>;
  readonly cosh: FloatingUnaryMethod<D>;
  readonly tanh: FloatingUnaryMethod<D>;
  readonly erf: FloatingUnaryMethod<D>;
  readonly erfc: FloatingUnaryMethod<D>;
  readonly lgamma: FloatingUnaryMethod<D>;
  readonly sigmoid: FloatingUnaryMethod<D>;
  /** `log(1 + exp(x))` */
  readonly softplus: FloatingUnaryMethod<D>;
  /** `x Phi(x)`, Phi being the distribution function of the normal distribution (Hendrycks and Gimpel 2016), not its tanh form. */
  readonly gelu: FloatingUnaryMethod<D>;
  readonly eq: ComparisonMethod;
  readonly ne: ComparisonMethod;
  readonly lt: ComparisonMethod;
  readonly le: ComparisonMethod;
  readonly gt: ComparisonMethod;
  readonly ge: ComparisonMethod;
  readonly logicalAnd: ComparisonMethod;
  readonly logicalOr: ComparisonMethod;
  readonly logicalXor: ComparisonMethod;
  readonly logicalNot: TruthMethod;
  readonly isNaN: TruthMethod;
  readonly isFinite: TruthMethod;
  readonly isInfinite: TruthMethod;
  /** `x` where this is true, or not 0, else `y`. */
  readonly where: <A extends OperandKind = 'number', B extends OperandKind = 'number'>(
    x: Operand<A>,
    y: Operand<B>,
    options?: ElementwiseOptions,
  ) => Elementwise<CommonDType<A, B>>;
  /** Not below `least` and not above `most`; undefined is no limit. */
  readonly clamp: <B extends OperandKind = 'number'>(
    least: Operand<B> | undefined,
    most?: Operand<B>,
    options?: ElementwiseOptions,
  ) => Elementwise<CommonDType<D, B>>;
}

declare module '../tensor-methods.js' {
  // eslint-disable-next-line @typescript-eslint/no-empty-object-type -- its members stand in ElementwiseMethods
  interface TensorMethods<D extends DType> extends ElementwiseMethods<D> {}
}

const AT_LEAST: Use = { what: 'clamp', operands: ['the first operand', 'least'] };
const AT_MOST: Use = { what: 'clamp', operands: ['the first operand', 'most'] };

/** `x` not below `least` and not above `most`, in one kernel. */
export function clamped(
  x: unknown,
  least: unknown,
  most: unknown,
  options?: unknown,
): ReturnType<typeof elementwise> {
  if (most === undefined) return elementwise('maximum', [x, least], options, AT_LEAST);
  if (least === undefined) return elementwise('minimum', [x, most], options, AT_MOST);
  const above = elementwise('maximum', [x, least], undefined, AT_LEAST);
  return elementwise('minimum', [above, most], options, AT_MOST);
}

const methods: Record<string, AttachedMethod> = { clamp: clamped };
for (const name of Object.keys(OPERATORS) as OperatorName[]) {
  const { arity } = OPERATORS[name];
  methods[name] = (self, ...given) =>
    elementwise(name, [self, ...given.slice(0, arity - 1)], given[arity - 1]);
}

attachMethods(methods);
