import { isExpr, variablesOfAll, type Expr, type RealExpr } from '@mercer/formula/plan';
import type { DType, MapProblem } from '@mercer/kernels';
import { sizeOfShape } from './checked-size.js';
import type { LoadOptions } from './device.js';
import { rowMajorStrides } from './layout.js';
import type { MapCall, MapPrepare } from './map-call.js';
import { checkMap, namedTensors, type CheckedMap, type MapFormula } from './map-check.js';
import { areSorted, type MapTensors, type NamedTensors } from './map-inputs.js';
import { addMaps, type MapStep } from './map-kernel.js';
import {
  elementAt,
  hasLists,
  inputsAt,
  listLength,
  outAt,
  type MapListTensors,
} from './map-lists.js';
import { slopeOf } from './map-slope.js';
import {
  MAP_OPTIONS,
  PREPARED_MAP_OPTIONS,
  type MapFormulas,
  type MapOptions,
} from './map-options.js';
import { MercerError } from './mercer-error.js';
import { CallSteps } from './operation/call-steps.js';
import type { CallTensors } from './operation/known-call.js';
import { keyPart, only, Operation } from './operation/operation.js';
import { coreOf } from './operations.js';
import { assertNoOverlap } from './overlap.js';
import { readOptions } from './read-options.js';
import { isTensor, type Tensor } from './tensor.js';
import { commonDevice } from './tensor-checks.js';
import { someArgument } from './trace/arguments.js';
import { byElements, exampleShape } from './trace/batching.js';
import { differentiable } from './trace/differentiable.js';
import type { BatchRule, DerivativeRule, KnownValue, Share, Value } from './trace/primitive.js';
import { summedTo } from './trace/summed-to.js';
import { isTraced } from './trace/traced-value.js';
import { broadcastLayout } from './views.js';

/** A map of one place of lists, or the only one. */
interface MapPart {
  readonly formulas: readonly MapFormula[];
  readonly inputs: NamedTensors;
}

/** The names of a map that was prepared, in order. */
interface Example {
  readonly inputs: readonly string[];
  readonly parameters: readonly string[];
}

type Arguments = readonly [parts: readonly MapPart[]];
type Given = readonly [formulas: Expr | MapFormulas, inputs: MapListTensors];
type Out = Tensor | readonly Tensor[];
/** As callers give them, for one result or for several. */
interface Options extends LoadOptions, Pick<MapOptions, 'parameters' | 'indices'> {
  readonly out?: Out | Readonly<Record<string, Out | undefined>> | undefined;
  readonly dtype?: DType | Readonly<Record<string, DType | undefined>> | undefined;
}

const operation = new Operation<Arguments, Options, Example, Given>({
  what: 'map',
  options: MAP_OPTIONS,
  freeOptions: PREPARED_MAP_OPTIONS,
  // In the order of names, so that calls are alike however they are written.
  snapshot: ([given, inputs], options, prepared) => {
    const { parameters, indices } = options;
    const parts = partsOf(given, inputs, options);
    // a prepared call reads them at once
    const isCopied = prepared === undefined && (parameters ?? indices) !== undefined;
    if (!isCopied) return [[parts], options];
    return [[parts], { ...options, parameters: sorted(parameters), indices: sorted(indices) }];
  },
  identify: ([parts], { parameters, indices }, example) => {
    const [{ formulas, inputs } = NO_PART] = parts;
    const tensors = tensorsOf(parts);
    // All else was fixed when it was prepared.
    if (
      example !== undefined &&
      parts.length === 1 &&
      areSame(inputs.names, example.inputs) &&
      haveNumbers(parameters, example.parameters)
    )
      return { key: '', tensors };
    let key = `${parts.length} `;
    for (const { expr, dtype } of formulas) {
      const part = keyPart(dtype);
      if (!isExpr(expr) || part === undefined) return undefined;
      key += `${expr.id} ${part} `;
    }
    for (const name of inputs.names) key += ` ${named(name)}`;
    const ofNumbers = numbersKey('parameters', parameters);
    const ofIndices = numbersKey('indices', indices);
    if (ofNumbers === undefined || ofIndices === undefined) return undefined;
    return { key: key + ofNumbers + ofIndices, tensors };
  },
  plan: ([parts], options, prepared) => {
    const checked = parts.map(({ formulas, inputs }) => checkMap(formulas, inputs, options));
    const parameters = sorted(options.parameters ?? {});
    if (parts.length > 1) checkApart(parts);
    const tensors = tensorsOf(parts);
    const [{ device }] = checked as [CheckedMap];
    const steps = new CallSteps(coreOf(device), tensors);
    const numbers = { parameters, computesIn: undefined };
    let first = 0;
    const maps = parts.map(({ formulas, inputs }, at): MapStep => {
      const { shape, dtypes, indices, operands } = checked[at] as CheckedMap;
      const results = formulas.map(({ expr }, r) => ({
        expr,
        to: steps.result({ shape: [...shape], dtype: dtypes[r] as DType }),
      }));
      const views = inputs.names.map((_, k) => steps.input(first + k));
      first += views.length;
      return { ...numbers, indices, results, shape, inputs: operands, views };
    });
    const filled = maps.filter(({ shape }) => sizeOfShape(shape) > 0);
    const [{ formulas, inputs }] = parts as [MapPart];
    const example = { inputs: inputs.names, parameters: Object.keys(parameters) };
    if (filled.length === 0 && prepared !== 'example') return { tensors, steps, example };
    const [one] = checked as [CheckedMap];
    const stands =
      filled.length === 0
        ? {
            ...numbers,
            indices: one.indices,
            ...filledExample(one, formulas, inputs.tensors),
          }
        : undefined;
    const map = addMaps(
      steps,
      filled.length === 0 ? maps.slice(0, 1) : filled,
      ({ parameters: given = {} }: Options) => given,
      stands,
    );
    return { tensors, steps, example, ...map };
  },
});

/** Names of numbers as part of a key, of indices with their values; undefined for what the checks refuse. */
function numbersKey(label: 'parameters' | 'indices', record: unknown): string | undefined {
  if (record === undefined) return '';
  if (!isRecord(record)) return undefined;
  let key = ` ${label}`;
  for (const name of Object.keys(record)) {
    const value = record[name];
    if (typeof value !== 'number') return undefined;
    key += label === 'indices' ? ` ${value}${named(name)}` : ` ${named(name)}`;
  }
  return key;
}

const NO_PART: MapPart = { formulas: [], inputs: { names: [], tensors: [] } };

function areSame(some: readonly string[], others: readonly string[]): boolean {
  if (some.length !== others.length) return false;
  for (let at = 0; at < some.length; at++) if (some[at] !== others[at]) return false;
  return true;
}

/** Whether a record has numbers with these names in order, and nothing else. */
function haveNumbers(record: unknown, names: readonly string[]): boolean {
  if (record === undefined) return names.length === 0;
  if (!isRecord(record) || !areSame(Object.keys(record), names)) return false;
  for (const name of names) if (typeof record[name] !== 'number') return false;
  return true;
}

/** The maps of a call: one for each place of its lists. @throws MercerError INVALID_ARGUMENT */
function partsOf(
  given: Expr | MapFormulas,
  inputs: MapListTensors,
  options: Options,
): readonly MapPart[] {
  const named = namedTensors(inputs as MapTensors);
  if (!hasArrays(named.tensors)) return [{ formulas: formulasOf(given, options), inputs: named }];
  const names = sorted(inputs);
  const count = listLength(names, options.out);
  const formulas = formulasOf(given, options);
  return Array.from({ length: count }, (_, at) => ({
    formulas: formulas.map(({ name, expr, out, dtype }) => ({
      name,
      expr,
      out: elementAt(out, at) as Tensor | undefined,
      dtype,
    })),
    inputs: namedTensors(inputsAt(names, at)),
  }));
}

function hasArrays(values: readonly unknown[]): boolean {
  for (const one of values) if (Array.isArray(one)) return true;
  return false;
}

const optionsAt = <O extends { readonly out?: unknown }>(options: O, at: number): O => ({
  ...options,
  out: outAt(options.out, at),
});

function tensorsOf(parts: readonly MapPart[]): CallTensors {
  const inputs: Tensor[] = [];
  const outs: (Tensor | undefined)[] = [];
  for (const part of parts) {
    for (const one of part.inputs.tensors) inputs.push(one);
    for (const { out } of part.formulas) outs.push(out);
  }
  return { inputs, outs };
}

/** What is written at one place of lists is neither read nor written at another. @throws MercerError OVERLAP, DEVICE_MISMATCH */
function checkApart(parts: readonly MapPart[]): void {
  commonDevice(
    parts.flatMap((part) => tensorsOf([part]).inputs),
    'map',
  );
  for (const [at, part] of parts.entries()) {
    const others = tensorsOf(parts.filter((_, other) => other !== at));
    const before = tensorsOf(parts.slice(0, at)).outs.filter((one) => one !== undefined);
    for (const out of tensorsOf([part]).outs) {
      if (out !== undefined) assertNoOverlap(out, others.inputs, 'map', before);
    }
  }
}

/**
 * The formulas of a call in order, each with what the options say of its result; what is neither one nor several is left to the checks.
 *
 * @throws MercerError INVALID_ARGUMENT for options of results that there are not
 */
function formulasOf(given: Expr | MapFormulas, { out, dtype }: Options): readonly MapFormula[] {
  if (!areSeveral(given)) {
    return [
      { name: undefined, expr: given, out: out as Tensor | undefined, dtype: dtype as DType },
    ];
  }
  const names = Object.keys(given);
  if (isTensor(out) || Array.isArray(out)) {
    const found = isTensor(out) ? out.label : `a list of ${out.length}`;
    throw new MercerError(
      'INVALID_ARGUMENT',
      `map: out is ${found} and there are results by name. Pass an object with a tensor for ${names.map((name) => `'${name}'`).join(' or ')}.`,
    );
  }
  const known = Object.fromEntries(names.map((name) => [name, true as const]));
  const outs = readOptions('map: out', out as Readonly<Record<string, Tensor>>, known);
  const isForAll = dtype === undefined || typeof dtype === 'string';
  const dtypes = isForAll ? undefined : readOptions('map: dtype', dtype, known);
  return names.map((name) => ({
    name,
    expr: given[name] as Expr,
    out: outs[name],
    dtype: isForAll ? dtype : dtypes?.[name],
  }));
}

/** An empty example stands for dense tensors, with two elements along each of its empty axes. */
function filledExample(
  { shape, dtypes, operands }: CheckedMap,
  formulas: readonly MapFormula[],
  inputs: readonly Tensor[],
): Pick<MapProblem, 'shape' | 'results' | 'inputs'> {
  const filled = shape.map(twoForNone);
  const strides = rowMajorStrides(filled);
  return {
    shape: filled,
    results: formulas.map(({ expr }, at) => ({ expr, dtype: dtypes[at] as DType, strides })),
    inputs: operands.map(({ name, dtype }, at) => {
      const own = (inputs[at]?.shape ?? []).map(twoForNone);
      const dense = { shape: own, strides: rowMajorStrides(own), offset: 0 };
      return { name, dtype, strides: broadcastLayout(dense, filled).strides };
    }),
  };
}

const twoForNone = (extent: number): number => (extent === 0 ? 2 : extent);

/** A copy with its names in order; what is no plain object is left to the checks. */
function sorted<T>(record: T): T {
  if (!isRecord(record) || isTensor(record)) return record;
  const names = Object.keys(record);
  if (areSorted(names)) return { ...record };
  names.sort();
  return Object.fromEntries(names.map((name) => [name, record[name]])) as T;
}

/** With its length, so that no name can be taken for two parts. */
const named = (name: string): string => `${name.length} ${name}`;

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

/** Results by name: of each, one or a list. */
const byName = <T>(formulas: MapFormulas, results: readonly T[]): Record<string, T> =>
  Object.fromEntries(Object.keys(formulas).map((name, at) => [name, results[at] as T]));

/** The results of the maps of a call, as it gives them. */
function resultsOf(
  given: Expr | MapFormulas,
  inputs: MapListTensors,
  results: readonly Tensor[],
): unknown {
  const isList = hasLists(inputs);
  if (!areSeveral(given)) return isList ? results : only(results);
  if (!isList) return byName(given, results);
  const count = Object.keys(given).length;
  const lists = Array.from({ length: count }, (_, r) => results.filter((_, k) => k % count === r));
  return byName(given, lists);
}

/** Whether results have names; what is neither is one formula, which the checks refuse. */
const areSeveral = (given: Expr | MapFormulas): given is MapFormulas =>
  isRecord(given) && !isExpr(given) && !isTensor(given);

function callMap(given: Expr | MapFormulas, inputs: MapListTensors, options?: object): unknown {
  const all = options as Options | undefined;
  const several = areSeveral(given);
  if (!several && !hasLists(inputs)) return operation.one([given, inputs], all);
  const formulas = several ? { ...given } : given;
  return callSeveral(formulas, inputs, all);
}

async function callSeveral(
  formulas: Expr | MapFormulas,
  inputs: MapListTensors,
  options: Options | undefined,
): Promise<unknown> {
  // lists of nothing are on no device
  const isNothing = hasLists(inputs) && listLength(inputs, options?.out) === 0;
  const results = isNothing ? [] : await operation.call([formulas, inputs], options);
  return resultsOf(formulas, inputs, results);
}

/** A map of each place of lists with traced values, which have rules for their maps alone. */
async function callApart(
  given: Expr | MapFormulas,
  inputs: MapListTensors,
  options: Options = {},
): Promise<unknown> {
  const count = listLength(inputs, options.out);
  const places = Array.from({ length: count }, (_, at) =>
    mapOne(given as Expr, inputsAt(inputs, at), optionsAt(options, at) as MapOptions),
  );
  const results: readonly unknown[] = await Promise.all(places);
  if (!areSeveral(given)) return results;
  const names = Object.keys(given);
  return byName(
    given,
    names.map((name) => results.map((one) => (one as Known)[name])),
  );
}

async function prepareMap(
  given: Expr | MapFormulas,
  inputs: MapListTensors,
  options?: object,
): Promise<unknown> {
  const several = areSeveral(given);
  const formulas = several ? { ...given } : given;
  const prepared = await operation.prepare([formulas, inputs], options);
  return (others: MapListTensors, own?: object): unknown => {
    const results = prepared([formulas, others], own);
    return several || hasLists(others) ? resultsOf(formulas, others, results) : only(results);
  };
}

type Known = Readonly<Record<string, KnownValue>>;
type Traced = readonly [formulas: Expr | MapFormulas, inputs: Known, options?: Options];

/** What goes through the derivative of the formula of one result by one input, if that is not 0: a map of the same inputs. */
type Slopes = (t: Value, key: string, by: string) => Value | undefined;

const slopesOf =
  (formulas: MapFormulas, results: Known, [, inputs, options = {}]: Traced): Slopes =>
  (t, key, by) => {
    const formula = formulas[key];
    if (formula?.type !== 'real') return undefined;
    const slope = slopeOf(formula as RealExpr, by);
    if (slope.value !== undefined) return slope.value === 0 ? undefined : t.mul(slope.value);
    const dtype = results[key]?.dtype === 'float64' ? 'float64' : 'float32';
    const how = { dtype, parameters: options.parameters, indices: options.indices } as const;
    return t.mul(map(slope, readBy(slope, inputs, options) as unknown as MapTensors, how));
  };

/** The inputs that a slope reads; all where it has none, or reads the numbers of elements. */
function readBy(slope: Expr, inputs: Known, { indices }: Options): Known {
  const names = variablesOfAll([slope]);
  const read = Object.entries(inputs).filter(([name]) => names.includes(name));
  return read.length === 0 || indices !== undefined ? inputs : Object.fromEntries(read);
}

const sumOf = (all: readonly (Value | undefined)[]): Value | undefined =>
  all.reduce((sum, one) => (one && sum?.add(one)) ?? one ?? sum, undefined);

const derivative: DerivativeRule<Traced> = {
  vjp: (g, { args, result }) => {
    const [given, inputs] = args;
    const { formulas, results, values } = byKey(given, result, g);
    const slopes = slopesOf(formulas, results, args);
    const keys = Object.keys(formulas);
    const shape = results[keys[0] as string]?.shape ?? [];
    const share = (by: string, x: KnownValue) => () => {
      const sum = sumOf(keys.map((key) => values[key] && slopes(values[key], key, by)));
      return sum && summedTo(sum, shape, x.shape);
    };
    const shares = Object.entries(inputs).map(([by, x]): [string, Share] => [by, share(by, x)]);
    return [undefined, Object.fromEntries(shares)];
  },
  jvp: ([, given], { args, result }) => {
    const tangents = given as Readonly<Record<string, Value | undefined>>;
    const { formulas, results } = byKey(args[0], result, undefined);
    const slopes = slopesOf(formulas, results, args);
    const changes = Object.entries(results).map(([key, { shape }]) => {
      const parts = Object.entries(tangents).map(([by, t]) => t && slopes(t, key, by));
      return [key, sumOf(parts)?.broadcastTo(shape)] as const;
    });
    const all = Object.fromEntries(changes);
    return areSeveral(args[0]) ? all : all[ONLY];
  },
};

/** Of all examples; indices are positions along the axes of one. */
const batch: BatchRule<Traced> = (given) => {
  const [formulas, inputs, options = {}] = given.args;
  const [, mapped] = given.mapped as readonly [unknown, Readonly<Record<string, unknown>>];
  const ranks = Object.entries(inputs).map(([by, x]) => exampleShape(x, mapped[by]).length);
  const rank = Math.max(...ranks);
  const axes = Object.entries(options.indices ?? {});
  // which the operation refuses
  if (axes.some(([, axis]) => axis >= rank || axis < -rank)) return undefined;
  const behind = axes.map(([by, axis]) => [by, axis < 0 ? axis : axis + 1] as const);
  const indices = Object.fromEntries(behind);
  return byElements({ ...given, args: [formulas, inputs, { ...options, indices }] as never });
};

/** The key of a result without a name. */
const ONLY = '';

/** Formulas, results and cotangents by name. */
const byKey = (given: Expr | MapFormulas, result: unknown, g: unknown) =>
  areSeveral(given)
    ? { formulas: given, results: result as Known, values: (g ?? {}) as Partial<Known> }
    : {
        formulas: { [ONLY]: given },
        results: { [ONLY]: result } as Known,
        values: { [ONLY]: g } as Partial<Known>,
      };

/** With the rules of a map that is of no lists. */
const mapOne = differentiable('map', callMap as MapCall, derivative, batch, 'one call');

const mapAny = (given: Expr | MapFormulas, inputs: MapListTensors, options?: object): unknown =>
  hasLists(inputs) && someArgument([inputs], isTraced)
    ? callApart(given, inputs, options)
    : mapOne(given as Expr, inputs as MapTensors, options);

/**
 * A formula of scalars applied to every element of tensors that broadcast together, in one kernel. The variables of the
 * formula are inputs, parameters and indices. It computes in float64 where an input or the result is float64 (or an
 * index exceeds 2^24), else in float32, in which whole numbers are exact up to 2^24; bool is 1 and 0.
 *
 * ```ts
 * import { lt, mul, select, variable } from '@mercer/formula';
 * import { map, tensor } from '@mercer/tensor';
 *
 * const x = await tensor([[1, 2], [3, 4]], { device: 'cpu' });
 * const [row, column] = [variable('row'), variable('column')];
 * const lower = select(lt(row, column), 0, mul(variable('scale'), variable('x')));
 * const indices = { row: -2, column: -1 };
 * const scaled = await map(lower, { x }, { parameters: { scale: 10 }, indices });
 * console.log(await scaled.toNested()); // [ [ 10, 0 ], [ 30, 40 ] ]
 * ```
 *
 * Inputs may be results that are not awaited yet, as `map(lower, { x: x.exp() })` has it; their failure is that of the map.
 *
 * Several formulas by name are computed in one kernel too, and give their results by name. A result may be the memory of an input,
 * also of one that another formula reads: every element is read before any is written.
 *
 * ```ts
 * import { add, mul, sub, variable } from '@mercer/formula';
 * import { map, tensor } from '@mercer/tensor';
 *
 * const [w, m, g] = [variable('w'), variable('m'), variable('g')];
 * const moment = add(mul(0.9, m), mul(0.1, g));
 * const where = { device: 'cpu' } as const;
 * const state = { w: await tensor([1, 2], where), m: await tensor([0, 0], where) };
 * const step = { w: sub(w, mul(0.5, moment)), m: moment };
 * await map(step, { ...state, g: await tensor([10, 20], where) }, { out: state });
 * console.log(await state.w.toNested(), await state.m.toNested()); // [ 0.5, 1 ] [ 1, 2 ]
 * ```
 *
 * Inputs that are lists of tensors, all of one length, are mapped place by place, each with its own shape, and give lists. It is one kernel for
 * all of them that lie in rows of memory (several where they need more than 4096 bytes of addresses, 32764 from CUDA 12.1 on: that is from about 55 or 450 tensors with four inputs and three
 * results on). What is no list is read at every place. A step of Adam:
 *
 * ```ts
 * import { add, div, mul, pow, sqrt, sub, variable } from '@mercer/formula';
 * import { map, tensor } from '@mercer/tensor';
 *
 * const [p, g, m, v] = [variable('p'), variable('g'), variable('m'), variable('v')];
 * const [rate, t] = [variable('rate'), variable('t')];
 * const first = add(mul(0.9, m), mul(0.1, g));
 * const second = add(mul(0.999, v), mul(0.001, mul(g, g)));
 * const length = sqrt(div(second, sub(1, pow(0.999, t))));
 * const towards = div(div(first, sub(1, pow(0.9, t))), add(length, 1e-8));
 * const adam = { p: sub(p, mul(rate, towards)), m: first, v: second };
 *
 * const where = { device: 'cpu' } as const;
 * const lists = async (a: number, b: number) => [await tensor([a, a], where), await tensor([[b]], where)];
 * const state = { p: await lists(1, 2), m: await lists(0, 0), v: await lists(0, 0) };
 * const gradients = await lists(4, -1);
 * await map(adam, { ...state, g: gradients }, { out: state, parameters: { rate: 0.5, t: 1 } });
 * console.log(await state.p[0]?.toNested(), await state.p[1]?.toNested()); // [ 0.5, 0.5 ] [ [ 2.5 ] ]
 * ```
 *
 * @param formulas an expression of `@mercer/formula`, or several by name; a comparison gives 1 or 0
 * @param inputs tensors, or lists of them, of any dtypes and strides on one device, and any number; those that the formulas do not read still give the
 *   results their shape; none at all need `out`. `grad` differentiates by each, to any order
 * @throws MercerError INVALID_ARGUMENT (unbound or doubly bound variables, no shape), SHAPE_MISMATCH, DTYPE_MISMATCH,
 *   DEVICE_MISMATCH, OVERLAP, DISPOSED, UNSUPPORTED where more than eight dimensions cannot be merged, LIMIT for more inputs and results than the
 *   parameters of a launch on a GPU address (some 250 where all lie in a row of memory, 512 / (1 + n) where n dimensions cannot be merged)
 */
export const map: MapCall = Object.assign(mapAny as MapCall, {
  prepare: prepareMap as MapPrepare,
});
