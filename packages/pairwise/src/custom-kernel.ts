import { isExpr, variables, type RealExpr } from '@mercer/formula';
import { describeValue, type OptionNames } from '@mercer/options';
import { MercerError } from '@mercer/tensor';
import { readOptions } from '@mercer/tensor/operation';

/** A kernel that a caller wrote; made by `customKernel`. */
export interface CustomKernel<P extends string = string> {
  /** In the variable `d` and the parameters. */
  readonly expression: RealExpr;
  readonly parameters: readonly P[];
}

/** Options of `customKernel`. */
export interface CustomKernelOptions<P extends string> {
  /** The expression's variables besides `d`, each a number or a tensor in the option `parameters` of a call. */
  readonly parameters?: readonly P[] | undefined;
}

const CUSTOM_KERNEL_OPTIONS: OptionNames<CustomKernelOptions<string>> = { parameters: true };

const made = new WeakSet();

/**
 * A kernel from a formula: any expression in the variable `d` and in named parameters, to be the `kernel` of a descriptor.
 * d is the distance or product that the descriptor's powers make. Write arithmetic on parameters alone as a subexpression,
 * `d * (1 / c)` rather than `d / c`: it is then computed once, not per pair.
 *
 * @throws MercerError INVALID_ARGUMENT for anything but a real expression of this copy of @mercer/formula, for variables that
 *   are neither d nor listed, and for parameters that the expression does not have
 *
 * @example
 * ```ts
 * import { div, exp, mul, neg, variable } from '@mercer/formula';
 * import { customKernel, kernelDescriptor, runKernel } from '@mercer/pairwise';
 *
 * const [d, c] = [variable('d'), variable('c')];
 * const decay = kernelDescriptor({
 *   innerOperator: 'diff',
 *   innerPower: 'square',
 *   outerPower: 'none',
 *   kernel: customKernel(exp(mul(d, neg(div(1, c)))), { parameters: ['c'] }),
 * });
 * const k = await runKernel(decay, [[0], [2]], [[0]], { parameters: { c: 4 }, device: 'cpu' });
 * console.log(await k.toNested()); // [ [ 1 ], [ 0.3678... ] ], exp(0) and exp(-1)
 * ```
 */
export function customKernel<const P extends string = never>(
  expression: RealExpr,
  options?: CustomKernelOptions<P>,
): CustomKernel<NoInfer<P>> {
  const given = readOptions('customKernel', options, CUSTOM_KERNEL_OPTIONS);
  const names: unknown = given.parameters ?? [];
  if (!Array.isArray(names)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `customKernel: parameters is ${describeValue(names)}. Pass a list of names.`,
    );
  }
  const parameters = Object.freeze([...(names as readonly P[])]);
  checkExpression(expression, parameters);
  const kernel = Object.freeze({ expression, parameters });
  made.add(kernel);
  return kernel;
}

/** True for what `customKernel` returned. */
export function isCustomKernel(value: unknown): value is CustomKernel {
  return typeof value === 'object' && value !== null && made.has(value);
}

function checkExpression(expression: unknown, parameters: readonly string[]): void {
  if (!isExpr(expression) || expression.type !== 'real') {
    throw invalid(
      'the expression is not a real expression of this copy of @mercer/formula',
      'Build it from variable, add, mul, exp and the like; wrap a comparison in select',
    );
  }
  const found = variables(expression).filter((name) => name !== 'd');
  const strangers = found.filter((name) => !parameters.includes(name));
  if (strangers.length > 0) {
    throw invalid(
      `${strangers.join(', ')} is neither the variable d nor a listed parameter`,
      `List it: { parameters: [${found.map((name) => `'${name}'`).join(', ')}] }`,
    );
  }
  const unused = parameters.filter((name) => !found.includes(name));
  if (unused.length > 0 || new Set(parameters).size !== parameters.length) {
    throw invalid(
      `the parameters [${parameters.join(', ')}] are not the variables [${found.join(', ')}] of the expression`,
      'List each variable except d once',
    );
  }
}

function invalid(why: string, remedy: string): MercerError {
  return new MercerError('INVALID_ARGUMENT', `customKernel: ${why}. ${remedy}.`);
}
