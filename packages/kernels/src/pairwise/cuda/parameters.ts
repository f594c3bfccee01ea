import {
  substitute,
  variable,
  variables,
  type Expr,
  isNonNegative,
  postOrder,
  withArgs,
  type RealExpr,
} from '@mercer/formula/plan';
import { cudaType } from '../../emit/literals.js';
import type { PairwiseDType } from '../../dtype.js';
import type { CudaPairwisePlan } from '../plan-types.js';
import { isUniform } from '../../emit/double-expression.js';
import { emitCudaExpression, type CudaExpressionOptions } from '../../emit/cuda-expression.js';
import { lines } from '../../emit/text.js';

/** Parameters go by their number: their names come from outside and may be words of C++. */
export const parameterText = (index: number): string => `parameter${index}`;

/** The function that reads a value for one batch entry that is a number or lies in memory. */
export function valueFunction(dtype: PairwiseDType): string {
  return `// a value of the launch: a number, or one per batch entry in memory
__device__ __forceinline__ double parameter_value(const ${cudaType(dtype)}* at, long long stride, double value, long long layer) {
  return at == nullptr ? value : (double)at[layer * stride];
}`;
}

/** Text of a value's reading, with `layer` in scope. */
export function readValue(name: string, layer: string): string {
  return `parameter_value(${name}At, ${name}Stride, ${name}Value, ${layer})`;
}

/** An expression whose parameters have the names that they have in C++. */
export interface RenamedExpression<E extends Expr> {
  readonly expr: E;
  /** The parameters in it, in the plan's order. */
  readonly used: readonly string[];
  /** The one that is p, if any. */
  readonly exponent: string | undefined;
}

/** The expression with the plan's parameters renamed to their C++ names. */
export function renameParameters<E extends Expr>(
  expr: E,
  { parameters = [] }: Pick<CudaPairwisePlan, 'parameters'>,
): RenamedExpression<E> {
  const present = variables(expr);
  const entries = parameters.map((name, i) => [name, parameterText(i)] as const);
  const renamed = substitute(
    expr,
    Object.fromEntries(entries.map(([name, text]) => [name, variable(text)])),
  );
  return {
    expr: renamed,
    used: entries.filter(([name]) => present.includes(name)).map(([, text]) => text),
    exponent: entries.find(([name]) => name === 'p')?.[1],
  };
}

/**
 * An expression with parameters in two parts: what depends on the launch and the batch entry alone is
 * computed once in double precision and kept in a struct; the rest reads it from there.
 */
interface UniformSplit<E extends Expr> {
  /** The rest, in its own variables and those that `locals` declares. */
  readonly expr: E;
  /** The struct and the function that fills it. */
  readonly text: string;
  /** Name of the struct. */
  readonly type: string;
  /** Declarations at the top of a function that has the struct as `uniforms`. */
  readonly locals: readonly string[];
  /** How the emitter has to take the variables of `locals`. */
  readonly options: Required<Pick<CudaExpressionOptions, 'uniform' | 'positive' | 'nonNegative'>>;
  /** The struct's value for a batch entry, as text. */
  readonly value: (layer: string) => string;
}

/** Splits an expression; undefined where it has none of the plan's parameters. */
export function splitUniforms<E extends Expr>(
  original: E,
  plan: Pick<CudaPairwisePlan, 'parameters'>,
  type: string,
): UniformSplit<E> | undefined {
  const { expr, used, exponent = 'p' } = renameParameters(original, plan);
  if (used.length === 0) return undefined;
  const known = ['p', ...used];
  const isKnown = (node: Expr): boolean => isUniform(node, (name) => known.includes(name));
  const found: { name: string; expr: RealExpr }[] = [];
  const results = new Map<Expr, Expr>();
  // comparisons stay: their operands are the values that are kept
  const kept = (node: Expr): Expr => {
    if (node.type !== 'real' || !isKnown(node)) return results.get(node) ?? node;
    const same = found.find((uniform) => uniform.expr === node);
    const name = same?.name ?? `u${found.length}`;
    if (same === undefined) found.push({ name, expr: node as RealExpr });
    return variable(name);
  };
  for (const node of postOrder(expr)) {
    if (node.args.length === 0 || (node.type === 'real' && isKnown(node))) continue;
    results.set(node, withArgs(node, node.args.map(kept)));
  }
  const rest = kept(expr) as E;
  // the operands of a comparison inside a value that is kept itself are not read
  const read = variables(rest);
  const uniforms = found.filter(({ name }) => read.includes(name));
  const functionName = `${type.replace(/([a-z])([A-Z])/g, '$1_$2').toLowerCase()}_of`;
  const all = uniforms.map(({ name, expr: value }, i) => doubleValue(name, value, known, `v${i}`));
  const names = uniforms.map(({ name }) => name);
  return {
    expr: rest,
    type,
    text: lines(
      '// what depends on the launch and the batch entry alone',
      `struct ${type} { double ${names.join(', ')}; };`,
      `__device__ __forceinline__ ${type} ${functionName}(double p, ${used.map((name) => `double ${name}`).join(', ')}) {`,
      ...all.flatMap(({ statements }) => statements.map((line) => `  ${line}`)),
      `  return {${all.map(({ result }) => result).join(', ')}};`,
      '}',
    ),
    locals: names.map((name) => `const double ${name} = uniforms.${name};`),
    options: {
      uniform: names,
      // the exponent of a norm is above 0 by contract
      positive: uniforms.filter(({ expr: value }) => isPower(value, exponent)).map(nameOf),
      nonNegative: uniforms
        .filter(({ expr: value }) => isNonNegative(value, [exponent]))
        .map(nameOf),
    },
    value: (layer) =>
      `${functionName}(${['p', ...used.map((name) => readValue(name, layer))].join(', ')})`,
  };
}

const nameOf = ({ name }: { readonly name: string }): string => name;

/** Whether the value is p, or made of p and constants so that it is above 0 when p is. */
function isPower(value: Expr, exponent: string): boolean {
  return (
    isNonNegative(value, [exponent]) &&
    variables(value).every((name) => name === exponent) &&
    ['var', 'mul', 'div', 'add', 'sqrt'].includes(value.op)
  );
}

/** One value in double precision, as statements and the text of the result. */
function doubleValue(
  name: string,
  value: RealExpr,
  uniform: readonly string[],
  prefix: string,
): { statements: readonly string[]; result: string } {
  if (value.name !== undefined) return { statements: [], result: value.name };
  const text = emitCudaExpression(value, { dtype: 'float64', bindings: {}, uniform, prefix });
  if (text.statements.length > 0) {
    throw new RangeError(`cannot emit the uniform value ${name}: it is not uniform throughout.`);
  }
  return { statements: text.uniformStatements, result: text.result };
}
