import {
  abs,
  constant,
  div,
  evaluate,
  isNonNegative,
  lt,
  mul,
  pow,
  select,
  simplify,
  sqrt,
  sub,
  substitute,
  variable,
  variables,
  type RealExpr,
} from '@mercer/formula/plan';
import { PlanError } from '../plan-error.js';
import { KERNEL_FUNCTIONS, type KernelName } from './kernel-expressions-functions.js';
import { isSpecialisedNorm, oneForExponent } from './norm-expressions.js';
import type { Reduce } from './problem.js';

/** What is done with a pair of features: `b - a`, or `a b`. */
export type InnerOperator = 'diff' | 'dot';

/** What is done with a value `x`: x, |x|, x^2, sqrt(x); `pow` is |x|^innerP inside the sum and x^outerP outside. */
export type DescriptorPower = 'none' | 'abs' | 'square' | 'sqrt' | 'pow';

/** A kernel that a caller wrote: an expression in the variable `d` and in its parameters. */
export interface CustomKernelFields {
  readonly expression: RealExpr;
  /** Names of the expression's other variables. */
  readonly parameters: readonly string[];
}

/** The parts of a kernel `f(outer(sum_k inner(a_k, b_k)))`. */
export interface DescriptorParts {
  readonly innerOperator: InnerOperator;
  readonly innerPower: DescriptorPower;
  readonly outerPower: DescriptorPower;
  readonly kernel: KernelName | CustomKernelFields;
}

/** How the text learns a value: it is this number, or it is a parameter of the launch. */
export type KnownValue = number | 'parameter';

/** What the expressions have to know about the parameters of a call. */
export interface DescriptorNumbers {
  /** Both exponents by one number: innerP = p, outerP = 1/p. Infinity gives the largest |x|. */
  readonly p?: KnownValue | undefined;
  readonly innerP?: KnownValue | undefined;
  readonly outerP?: KnownValue | undefined;
  /** The exponent of the polynomial kernel. */
  readonly degree?: KnownValue | undefined;
  /** Values of d below the parameter `epsilon` count as 0. */
  readonly epsilon?: boolean | undefined;
}

/** The expressions of a descriptor, as a pairwise problem takes them. */
export interface DescriptorExpressions {
  /** In `a`, `b` and the exponent `p`. */
  readonly inner: RealExpr;
  /** In `s`, the exponent `p` and the parameters. */
  readonly outer: RealExpr;
  readonly reduce: Reduce;
  /** Launch parameters that the expressions use besides the scalar p; p itself where it is one. */
  readonly parameters: readonly string[];
  /** Value of the launch scalar `p`, where the expressions use that. */
  readonly p?: number | undefined;
}

/** Parameter names of a custom kernel in the problem: no text of a caller reaches a compiler. */
export function customParameterName(index: number): string {
  return `custom${index}`;
}

/**
 * The expressions of a descriptor. With x = b - a or a b, s = sum_k inner(x_k) and d = outer(s), the result is f(d), d
 * being 0 where it is below `epsilon`. Exponents that become products and square roots are written into the text; others
 * are the launch scalar `p` or, where they lie in device memory, parameters: d is NaN then where they are no positive finite
 * numbers. Arithmetic on parameters alone forms subexpressions of its own, which emitters compute once.
 *
 * The order of operations and the meaning of the powers are Kermac's; the functions f are in `KERNEL_FUNCTIONS`.
 *
 * @throws PlanError for an infinite exponent anywhere but in a norm (`pow` inside and outside)
 *
 * ```ts
 * import { print } from '@mercer/formula';
 * import { descriptorExpressions } from '@mercer/kernels';
 * const { inner, outer } = descriptorExpressions(
 *   { innerOperator: 'diff', innerPower: 'abs', outerPower: 'none', kernel: 'laplace' },
 *   {},
 * );
 * console.log(print(inner), print(outer)); // abs(a - b) exp(s * (-(1 / bandwidth)))
 * ```
 */
export function descriptorExpressions(
  { innerOperator, innerPower, outerPower, kernel }: DescriptorParts,
  numbers: DescriptorNumbers,
): DescriptorExpressions {
  const p = numbers.p ?? (innerPower === 'pow' ? numbers.innerP : undefined);
  const largest = p === Infinity;
  if (largest && (innerPower !== 'pow' || outerPower !== 'pow' || numbers.p === undefined)) {
    throw new PlanError(
      'INVALID_ARGUMENT',
      'cannot build a power: the exponent is Infinity, which only a norm takes, ' +
        'with pow inside and outside the sum and one p for both. Pass a finite exponent.',
    );
  }
  const exponent = largest ? constant(1) : exponentOf(p, 'p');
  const [a, b] = [variable('a'), variable('b')];
  // The order matters to these alone; the others share the text of the norms.
  const ordered = innerPower === 'none' || innerPower === 'sqrt';
  const x = innerOperator === 'dot' ? mul(a, b) : ordered ? sub(b, a) : sub(a, b);
  const inner = powered(x, innerPower, () => simplify(pow(abs(x), exponent)));

  const s = variable('s');
  const nonNegative = isNonNegative(inner) ? ['s'] : [];
  const root =
    numbers.p === undefined
      ? exponentOf(numbers.outerP, 'outerP')
      : reciprocal(exponent, numbers.p);
  const outerPowered = powered(s, outerPower, () => simplify(pow(s, root), { nonNegative }));
  const checked = exponentsInMemory(innerPower, outerPower, numbers).map(oneForExponent);
  const plain = simplify(
    checked.reduce((value, factor) => mul(value, factor), outerPowered),
    { nonNegative },
  );
  const d = numbers.epsilon === true ? select(lt(plain, variable('epsilon')), 0, plain) : plain;
  const outer =
    typeof kernel === 'string'
      ? KERNEL_FUNCTIONS[kernel](d, degreeOf(numbers.degree))
      : customFunction(kernel, d, nonNegative);

  const used = new Set([...variables(inner), ...variables(outer)]);
  const scalar = used.has('p') && typeof p === 'number' ? p : undefined;
  return {
    inner,
    outer,
    reduce: largest ? 'max' : 'sum',
    parameters: [...used].filter(
      (name) => !['a', 'b', 's'].includes(name) && !(name === 'p' && scalar !== undefined),
    ),
    p: scalar,
  };
}

/** A constant where products and square roots compute the power, else the variable `name`. */
function exponentOf(value: KnownValue | undefined, name: string): RealExpr {
  return typeof value === 'number' && isSpecialisedNorm(value) ? constant(value) : variable(name);
}

/** The names of the exponents that a kernel reads from memory. */
function exponentsInMemory(
  inner: DescriptorPower,
  outer: DescriptorPower,
  { p, innerP, outerP }: DescriptorNumbers,
): readonly string[] {
  const isRead = (power: DescriptorPower, value: KnownValue | undefined): boolean =>
    power === 'pow' && value === 'parameter';
  if (p !== undefined) return isRead(inner, p) || isRead(outer, p) ? ['p'] : [];
  return [...(isRead(inner, innerP) ? ['p'] : []), ...(isRead(outer, outerP) ? ['outerP'] : [])];
}

function degreeOf(value: KnownValue | undefined): RealExpr {
  return typeof value === 'number' ? constant(value) : variable('degree');
}

function reciprocal(exponent: RealExpr, p: KnownValue): RealExpr {
  return exponent.value === undefined || p === 'parameter'
    ? div(1, variable('p'))
    : constant(1 / exponent.value);
}

function powered(x: RealExpr, power: DescriptorPower, general: () => RealExpr): RealExpr {
  if (power === 'none') return x;
  if (power === 'abs') return abs(x);
  if (power === 'square') return mul(x, x);
  return power === 'sqrt' ? sqrt(x) : general();
}

/** The caller's expression with d in its place and its parameters renamed. */
function customFunction(
  kernel: CustomKernelFields,
  d: RealExpr,
  known: readonly string[],
): RealExpr {
  const nonNegative = isNonNegative(d, known) ? ['d'] : [];
  return substitute(simplify(kernel.expression, { nonNegative }), {
    d,
    ...Object.fromEntries(
      kernel.parameters.map((name, i) => [name, variable(customParameterName(i))]),
    ),
  });
}

/** Positive values to try a kernel with; no two kernels that differ agree on all. */
const SAMPLES = [0.375, 1.75, 3];

/**
 * Whether a kernel of differences is 1 where both rows are equal, whatever its (positive) parameters are: then Kermac's
 * regularised diagonal is `1 + r`.
 */
export function isOneAtZero({ outer, parameters }: DescriptorExpressions): boolean {
  return SAMPLES.every((value) => {
    const bindings = Object.fromEntries([...parameters, 'p'].map((name) => [name, value]));
    return evaluate(outer, { ...bindings, s: 0 }) === 1;
  });
}
