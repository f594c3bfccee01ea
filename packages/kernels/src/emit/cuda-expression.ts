import {
  applyRule,
  isNonNegative,
  postOrder,
  variables,
  type Expr,
  type Op,
  type RuleTable,
} from '@mercer/formula/plan';
import type { PairwiseDType } from '../dtype.js';
import { cudaLiteral, cudaType } from './literals.js';
import { fastText } from './fast-math.js';
import type { CudaHelper } from './cuda-math.js';
import { expandAllFunctions } from '../math/expand-functions.js';
import { mathFunction, mathName } from '../math/math-function.js';
import { INFIX_RULES } from './infix-rules.js';
import { isUniform, emitDoubleExpression } from './double-expression.js';

/** How an expression is written. */
export interface CudaExpressionOptions {
  readonly dtype: PairwiseDType;
  /** C++ text of each variable of the data type. */
  readonly bindings: Readonly<Record<string, string>>;
  /** Names of variables that are the same for a whole launch, held in double. */
  readonly uniform?: readonly string[];
  /** Variables that are never below 0. */
  readonly nonNegative?: readonly string[];
  /** Uniform variables that are above 0. */
  readonly positive?: readonly string[];
  /**
   * Square roots of non-negative float32 values within 2 u instead of rounded in one further step,
   * and their reciprocals within 2.2 u; both are 0 for a denormal value.
   */
  readonly approximateRoots?: boolean;
  /** float32 exponentials e^x by the special-function unit, within (3 + 1.3 |x|) u, and 0 below the normal range. */
  readonly approximateExponentials?: boolean;
  /** float32 quotients, logarithms, powers, roots, sines, cosines and `tanh` as `FAST_TEXTS` says, within the bounds there. */
  readonly fastMath?: boolean | undefined;
  /** Prefix of the local names. */
  readonly prefix?: string;
}

/** An expression as C++ text. */
export interface CudaExpression {
  /** Declarations of shared subexpressions, in order. */
  readonly statements: readonly string[];
  /**
   * Declarations that depend on uniform variables only, to be hoisted to the top of the kernel. They
   * may call the compiler's double-precision functions.
   */
  readonly uniformStatements: readonly string[];
  /** The value. */
  readonly result: string;
  readonly helpers: ReadonlySet<CudaHelper>;
  /** Instructions of the arithmetic pipe, about; an absolute value rides on its user. */
  readonly issueSlots: number;
  /** Instructions of the special-function unit. */
  readonly special: number;
}

/**
 * Writes an expression as CUDA C++. Every distinct node becomes one local, so a subexpression that
 * occurs twice is computed once; constants have the data type; min and max keep NaN.
 */
export function emitCudaExpression(expr: Expr, options: CudaExpressionOptions): CudaExpression {
  const { results, ...rest } = emitCudaExpressions([expr], options);
  return { ...rest, result: results[0] ?? '' };
}

/** Several expressions as C++ text: as {@link CudaExpression}, with the value of each. */
export interface CudaExpressions extends Omit<CudaExpression, 'result'> {
  /** The values, in order. */
  readonly results: readonly string[];
}

/** Writes several expressions as {@link emitCudaExpression} writes one; what they share is computed once. */
export function emitCudaExpressions(
  originals: readonly Expr[],
  options: CudaExpressionOptions,
): CudaExpressions {
  const exprs = expandAllFunctions(originals);
  const { dtype, bindings, uniform = [], prefix = 't' } = options;
  const type = cudaType(dtype);
  const helpers = new Set<CudaHelper>();
  const statements: string[] = [];
  const uniformStatements: string[] = [];
  const text = new Map<Expr, string>();
  const assumed = [...(options.nonNegative ?? []), ...(options.positive ?? [])];
  const nonNegative = (node: Expr): boolean => isNonNegative(node, assumed);
  const context: Context = {
    dtype,
    helpers,
    nonNegative,
    positive: (node) =>
      node.value !== 0 &&
      nonNegative(node) &&
      variables(node).every((name) => options.positive?.includes(name) === true),
    roots: options.approximateRoots === true ? 'approximate' : 'rounded',
    exponentials: options.approximateExponentials === true ? 'approximate' : 'rounded',
    bind: (name) => {
      const bound = bindings[name];
      if (bound === undefined) throw new RangeError(`cannot emit '${name}': it is not bound.`);
      return bound;
    },
    exponentLow: () => undefined,
  };
  const isFixed = (node: Expr): boolean => isUniform(node, (name) => uniform.includes(name));
  let count = 0;
  // Held in double; the low part keeps what rounding to float32 would lose of an exponent. Only
  // what is used outside the uniform part gets a name.
  const nameUniform = (node: Expr): void => {
    if (text.has(node) || !isFixed(node)) return;
    const name = `${prefix}u${count++}`;
    text.set(node, name);
    if (node.type === 'bool') {
      uniformStatements.push(`const bool ${name} = ${doubleText(node)};`);
      return;
    }
    uniformStatements.push(`const double ${name}_wide = ${doubleText(node)};`);
    uniformStatements.push(`const ${type} ${name} = (${type})${name}_wide;`);
  };
  exprs.forEach(nameUniform);
  const order = postOrder(...exprs);
  for (const node of order) {
    if (isFixed(node)) continue;
    node.args.forEach(nameUniform);
    const args = node.args.map((arg) => text.get(arg) ?? '');
    const low = dtype === 'float32' ? exponentLowPart(node, isFixed, text) : undefined;
    const table = rules({ ...context, exponentLow: () => low });
    const isFast = dtype === 'float32' && options.fastMath === true;
    const fast = isFast ? fastText(node, args, nonNegative) : undefined;
    if (fast !== undefined) helpers.add(fast.helper);
    const value = fast?.text ?? applyRule(table, node, args);
    if (node.args.length === 0 || node.type === 'bool') {
      text.set(node, node.type === 'bool' ? `(${value})` : value);
      continue;
    }
    const name = `${prefix}${count++}`;
    statements.push(`const ${type} ${name} = ${value};`);
    text.set(node, name);
  }
  const issueSlots = statements.length === 0 ? 0 : countIssueSlots(order, isFixed, dtype);
  const special = dtype === 'float32' ? countRoots(order) : 0;
  const results = exprs.map((expr) => text.get(expr) ?? '');
  return { statements, uniformStatements, results, helpers, issueSlots, special };
}

// Measured lengths of the helpers; everything else is one instruction.
const ISSUE_SLOTS: { readonly [D in PairwiseDType]: Partial<Record<Op, number>> } = {
  float32: {
    const: 0,
    var: 0,
    abs: 0,
    neg: 0,
    sqrt: 2,
    rsqrt: 8,
    pow: 34,
    exp: 12,
    log: 16,
    tanh: 22,
    div: 8,
    call: 60,
  },
  float64: {
    const: 0,
    var: 0,
    abs: 0,
    neg: 0,
    sqrt: 16,
    rsqrt: 24,
    pow: 45,
    exp: 20,
    log: 30,
    tanh: 50,
    div: 12,
    call: 120,
  },
};

function countIssueSlots(
  nodes: readonly Expr[],
  isUniform: (node: Expr) => boolean,
  dtype: PairwiseDType,
): number {
  let issueSlots = 0;
  for (const node of nodes) if (!isUniform(node)) issueSlots += ISSUE_SLOTS[dtype][node.op] ?? 1;
  return issueSlots;
}

function countRoots(nodes: readonly Expr[]): number {
  return nodes.filter((node) => node.op === 'sqrt' || node.op === 'rsqrt').length;
}

interface Context {
  readonly dtype: PairwiseDType;
  readonly helpers: Set<CudaHelper>;
  readonly nonNegative: (node: Expr) => boolean;
  /** A constant above 0, or a launch scalar that must be. */
  readonly positive: (node: Expr) => boolean;
  readonly roots: 'approximate' | 'rounded';
  readonly exponentials: 'approximate' | 'rounded';
  readonly bind: (name: string) => string;
  readonly exponentLow: () => string | undefined;
}

function rules(context: Context): RuleTable<string> {
  const { dtype, helpers } = context;
  const isFloat = dtype === 'float32';
  const fn = (float: string, double: string): string => (isFloat ? float : double);
  const lit = (value: number): string => cudaLiteral(value, dtype);
  const need = (helper: CudaHelper): void => void helpers.add(helper);
  return {
    const: (_, { value }) => lit(value),
    var: (_, { name }) => context.bind(name),
    ...INFIX_RULES,
    neg: ([x]) => `-${x}`,
    abs: ([x]) => `${fn('fabsf', 'fabs')}(${x})`,
    sign: ([x]) => `${x} > ${lit(0)} ? ${lit(1)} : ${x} < ${lit(0)} ? ${lit(-1)} : ${x}`,
    sqrt: ([x], { args: [arg] }) => {
      if (!isFloat || !context.nonNegative(arg)) return `${fn('sqrtf', 'sqrt')}(${x})`;
      if (context.roots === 'rounded') {
        need('sqrtNonNegative');
        return `sqrt_nonnegative(${x})`;
      }
      need('sqrtApproximate');
      return `sqrt_approximate(${x})`;
    },
    rsqrt: ([x], { args: [arg] }) => {
      const at0 = `${x} == ${lit(0)} ? ${lit(0)}`;
      if (!context.nonNegative(arg)) return `${at0} : ${lit(1)} / ${fn('sqrtf', 'sqrt')}(${x})`;
      if (!isFloat || context.roots === 'rounded') return `${at0} : ${fn('rsqrtf', 'rsqrt')}(${x})`;
      need('rsqrtApproximate');
      return `rsqrt_approximate(${x})`;
    },
    pow: ([x, y], { args: [base, exponent] }) => {
      if (!context.nonNegative(base)) {
        need('powAny');
        return `pow_any(${x}, ${y})`;
      }
      if (context.positive(exponent)) {
        need('powPositive');
        return `pow_positive(${x}, ${y}, ${context.exponentLow() ?? lit(0)})`;
      }
      need('powNonNegative');
      return `pow_nonnegative(${x}, ${y}, ${context.exponentLow() ?? lit(0)})`;
    },
    exp: ([x]) => {
      if (!isFloat || context.exponentials === 'rounded') return `${fn('expf', 'exp')}(${x})`;
      need('expApproximate');
      return `exp_approximate(${x})`;
    },
    log: ([x]) => `${fn('logf', 'log')}(${x})`,
    // Within 2 units in the last place, and about 20 instructions in float32.
    tanh: ([x]) => `${fn('tanhf', 'tanh')}(${x})`,
    min: ([a, b]) => (need('min'), `min_nan(${a}, ${b})`),
    max: ([a, b]) => (need('max'), `max_nan(${a}, ${b})`),
    select: ([c, a, b]) => `${c} ? ${a} : ${b}`,
    call: (args, node) => (need(mathFunction(node)), `${mathName(node)}(${args.join(', ')})`),
  };
}

/** What the exponent of a power loses when it is rounded to float32, as text. */
function exponentLowPart(
  node: Expr,
  isUniform: (node: Expr) => boolean,
  text: ReadonlyMap<Expr, string>,
): string | undefined {
  const exponent = node.op === 'pow' ? node.args[1] : undefined;
  if (exponent === undefined) return undefined;
  if (exponent.value !== undefined) {
    return cudaLiteral(exponent.value - Math.fround(exponent.value), 'float32');
  }
  const name = isUniform(exponent) ? text.get(exponent) : undefined;
  return name === undefined ? undefined : `(float)(${name}_wide - (double)${name})`;
}

/** A uniform expression in double precision, by the functions that the compiler has. */
function doubleText(node: Expr): string {
  return emitDoubleExpression(node, {
    literal: (value) => cudaLiteral(value, 'float64'),
    variable: (name) => name,
    mathFunction: (name) => name,
  });
}
