import { isExpr, variables, type Expr } from '@mercer/formula';
import type { DType } from '@mercer/kernels';
import { describeValue } from '@mercer/options';
import { formatShape } from './checked-size.js';
import type { Device } from './device.js';
import type { ElementView } from './elementwise.js';
import { areSorted, type MapTensors, type NamedTensors } from './map-inputs.js';
import type { MapOptions } from './map-options.js';
import { MercerError } from './mercer-error.js';
import { checkOutView } from './operations.js';
import { assertNoOverlap, viewsOverlap, type MemoryView } from './overlap.js';
import { checkDType } from './check-argument.js';
import { assertTensor, isTensor, type Tensor } from './tensor.js';
import { commonDevice } from './tensor-checks.js';
import { broadcastLayout, broadcastShapes } from './views.js';

/** A formula of a call of map: of a result with a name, or of the only one. */
export interface MapFormula {
  readonly name: string | undefined;
  readonly expr: Expr;
  readonly out: Tensor | undefined;
  readonly dtype: DType | undefined;
}

/** A call of map whose arguments fit together. */
export interface CheckedMap {
  readonly shape: readonly number[];
  /** Of each result. */
  readonly dtypes: readonly DType[];
  readonly device: Device;
  /** The inputs broadcast to the shape, in their order. */
  readonly operands: readonly (ElementView & { readonly name: string })[];
  /** Axes counted from 0. */
  readonly indices: Readonly<Record<string, number>>;
}

/** Checks the arguments of map. */
export function checkMap(
  formulas: readonly MapFormula[],
  inputs: NamedTensors,
  options: Pick<MapOptions, 'parameters' | 'indices'>,
): CheckedMap {
  const { parameters = {}, indices = {} } = options;
  checkNames(formulas, inputs, parameters, indices);
  const outs = formulas.map(({ name, out }) => {
    if (out !== undefined) assertTensor(out, `map: ${outName(name)}`);
    return out;
  });
  const all = outs.filter((out) => out !== undefined);
  const { names, tensors } = inputs;
  const [first] = all;
  if (tensors.length === 0 && first === undefined) {
    throw invalid('there is neither an input nor out, so the result has no shape. Pass out.');
  }
  const device = commonDevice([...tensors, ...all], 'map');
  const dtypes = formulas.map(({ expr, out, dtype }) =>
    checkDType(dtype ?? out?.dtype ?? defaultDType(expr, tensors), 'map'),
  );
  const shape = first?.shape ?? broadcastShapes(...tensors.map((tensor) => tensor.shape));
  const operands = tensors.map((tensor, at) => ({
    ...broadcastTo(tensor, shape, names[at] as string),
    name: names[at] as string,
    dtype: tensor.dtype,
    storage: tensor.storage,
    label: tensor.label,
  }));
  for (const [at, dtype] of dtypes.entries()) {
    const out = outs[at];
    if (out === undefined) continue;
    checkOutView(out, { shape, dtype, device }, [], 'map');
    const before = outs.slice(0, at).filter((one) => one !== undefined);
    assertNoOverlap(out, [], 'map', before);
    for (const operand of operands) checkInPlace('map', out, operand);
  }
  return { shape, dtypes, device, operands, indices: checkAxes(indices, shape) };
}

const outName = (name: string | undefined): string => (name === undefined ? 'out' : `out.${name}`);

const invalid = (what: string): MercerError => new MercerError('INVALID_ARGUMENT', `map: ${what}`);

/** A look at every name. */
function checkNames(
  formulas: readonly MapFormula[],
  inputs: NamedTensors,
  parameters: Readonly<Record<string, number>>,
  indices: Readonly<Record<string, number>>,
): void {
  if (formulas.length === 0) throw invalid('there is no formula. Pass one for each result.');
  for (const { name, expr } of formulas) {
    if (isExpr(expr)) continue;
    throw invalid(
      `the formula${name === undefined ? '' : ` of '${name}'`} is ${describeValue(expr)}. Build it with the constructors of @mercer/formula.`,
    );
  }
  checkRecord('parameters', parameters);
  checkRecord('indices', indices);
  for (const [at, name] of inputs.names.entries()) {
    assertTensor(inputs.tensors[at], `map: input '${name}'`);
  }
  for (const [name, value] of Object.entries<unknown>(parameters)) {
    if (typeof value === 'number') continue;
    throw invalid(
      `parameter '${name}' is ${describeValue(value)}. Pass a number, or a tensor as input.`,
    );
  }
  const names = [...inputs.names, ...Object.keys(parameters), ...Object.keys(indices)];
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) {
    throw invalid(
      `'${twice}' is bound twice among inputs, parameters and indices. Give each variable one meaning.`,
    );
  }
  const read = [...new Set(formulas.flatMap(({ expr }) => variables(expr)))];
  const unbound = read.filter((name) => !names.includes(name));
  if (unbound.length > 0) {
    throw invalid(
      `the formula reads ${unbound.map((name) => `'${name}'`).join(', ')}, which no input, parameter or index is called. Bind each variable once.`,
    );
  }
}

/** In the order of their names. @throws MercerError INVALID_ARGUMENT for what has no tensors by name */
export function namedTensors(inputs: MapTensors): NamedTensors {
  if (isTensor(inputs)) {
    throw invalid('the inputs are a tensor. Pass an object with a tensor for each name, as { x }.');
  }
  checkRecord('inputs', inputs);
  const names = Object.keys(inputs);
  if (!areSorted(names)) names.sort();
  const tensors: Tensor[] = [];
  for (const name of names) tensors.push(inputs[name] as Tensor);
  return { names, tensors };
}

function checkRecord(what: 'inputs' | 'parameters' | 'indices', record: unknown): void {
  if (typeof record === 'object' && record !== null) return;
  throw invalid(`${what} is ${describeValue(record)}. Pass an object with a value for each name.`);
}

function defaultDType(expr: Expr, tensors: readonly Tensor[]): DType {
  if (expr.type === 'bool') return 'bool';
  return tensors.some(({ dtype }) => dtype === 'float64') ? 'float64' : 'float32';
}

function broadcastTo(
  tensor: Tensor,
  shape: readonly number[],
  name: string,
): Pick<ElementView, 'shape' | 'strides' | 'offset'> {
  const lead = shape.length - tensor.shape.length;
  if (lead < 0 || tensor.shape.some((n, axis) => n !== 1 && n !== shape[axis + lead])) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `map: input '${name}' is ${tensor.label} and does not broadcast to ${formatShape(shape)}. Trailing extents must be equal or 1.`,
    );
  }
  return broadcastLayout(tensor, shape);
}

/** An output may be an input, element by element; any other overlap would write what is still to be read. */
export function checkInPlace(what: string, out: Tensor, input: MemoryView): void {
  if (!viewsOverlap(out, input)) return;
  const same =
    out.dtype === input.dtype &&
    out.offset === input.offset &&
    out.shape.every((n, axis) => n === 1 || out.strides[axis] === input.strides[axis]);
  if (same) return;
  throw new MercerError(
    'OVERLAP',
    `${what}: the output ${out.label} shares memory with the input ${input.label} in another layout. Pass an output of its own, or one with the input's dtype, shape and strides.`,
  );
}

function checkAxes(
  indices: Readonly<Record<string, number>>,
  shape: readonly number[],
): Readonly<Record<string, number>> {
  const rank = shape.length;
  return Object.fromEntries(
    Object.entries<unknown>(indices).map(([name, axis]) => {
      const counted = typeof axis === 'number' && axis < 0 ? axis + rank : axis;
      if (
        !Number.isSafeInteger(counted) ||
        (counted as number) < 0 ||
        (counted as number) >= rank
      ) {
        throw invalid(
          `index '${name}' is the position along axis ${describeValue(axis)} and the result has shape ${formatShape(shape)}. Use an axis from ${-rank} to ${rank - 1}.`,
        );
      }
      return [name, counted as number];
    }),
  );
}
