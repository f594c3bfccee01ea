import { describeValue } from '@mercer/options';
import { MercerError } from '@mercer/tensor';
import { formatShape } from '@mercer/tensor/operation';
import { describeInput, shapeOf, type Input } from './input.js';
import { LazyError } from './lazy-error.js';
import { matrixInput, pairInput, parameterInput, tableInput, type LazyData } from './make-input.js';
import { withSteps } from './with-steps.js';

/** How many arguments the placeholders among the inputs ask for. */
export function argumentCount(inputs: readonly Input[]): number {
  return inputs.reduce(
    (count, { source }) =>
      source.kind === 'placeholder' ? Math.max(count, source.position + 1) : count,
    0,
  );
}

/** @throws LazyError INVALID_ARGUMENT for what is no array */
export function checkArguments(what: string, args: unknown): void {
  if (Array.isArray(args)) return;
  throw new LazyError(
    'INVALID_ARGUMENT',
    `${what}: the arguments are ${describeValue(args)}. Pass an array with one for each placeholder, as in call([x, y]).`,
  );
}

/**
 * The inputs with their placeholders bound to the arguments of a call.
 *
 * @throws LazyError UNBOUND_VARIABLE, INVALID_ARGUMENT (too many); MercerError SHAPE_MISMATCH for another dim, and as inputs do
 */
export function bindArguments(
  what: string,
  inputs: readonly Input[],
  args: readonly LazyData[],
): readonly Input[] {
  checkArguments(what, args);
  const count = argumentCount(inputs);
  if (args.length > count) {
    throw new LazyError(
      'INVALID_ARGUMENT',
      `${what}: ${args.length} arguments given, and the formula has ${count === 0 ? 'no placeholders' : `placeholders 0 to ${count - 1}`}. Pass one argument for each placeholder.`,
    );
  }
  if (count === 0) return inputs;
  return inputs.map((one) =>
    one.source.kind === 'placeholder' ? bound(what, one, args, count) : one,
  );
}

/** An argument as a placeholder asks for it; values of pairs have an axis of components where there are several. */
function argumentInput(
  what: string,
  { category, isTable, dim }: Input,
  value: LazyData,
  label: string,
): Input {
  if (isTable) return tableInput(what, value, label);
  if (category === 'parameter') return parameterInput(what, value, label);
  if (category === 'pair') return pairInput(what, value, dim > 1, label);
  return matrixInput(what, value, category, label);
}

function bound(what: string, placeholder: Input, args: readonly LazyData[], count: number): Input {
  const { source, category, isTable, name, dim } = placeholder;
  const value = source.kind === 'placeholder' ? args[source.position] : undefined;
  if (value === undefined) {
    throw new LazyError(
      'UNBOUND_VARIABLE',
      `${what}: ${describeInput(placeholder)} is not bound: ${args.length === 0 ? 'no arguments' : `${args.length} of ${count} arguments`} given. ` +
        `Call ${what === 'genred' ? 'it' : 'what reduction(kind, axis) gives'} with data for ${count === 1 ? 'the placeholder' : `each of the ${count} placeholders, in their order`}.`,
    );
  }
  const label = name ?? `argument ${source.kind === 'placeholder' && source.position}`;
  const input = argumentInput(what, placeholder, value, label);
  if (input.dim === dim) return withSteps(input, [...input.steps, ...placeholder.steps]);
  const extent = input.extent ?? { batchShape: [], rows: 0, columns: undefined };
  const shape =
    category === 'parameter' && !isTable
      ? [...extent.batchShape, input.dim]
      : shapeOf(extent, input.dim);
  throw new MercerError(
    'SHAPE_MISMATCH',
    `${what}: ${label} has shape ${formatShape(shape)}, whose last axis is ${input.dim}, and the formula declares dim ${dim}. ` +
      'Pass data with that many components, or declare the other dim.',
  );
}
