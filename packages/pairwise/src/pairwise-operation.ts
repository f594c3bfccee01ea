import {
  emitPairwise,
  planPairwise,
  type PairwisePlan,
  type PairwiseProblem,
  type ProductsConfig,
} from '@mercer/kernels';
import type { OptionNames } from '@mercer/options';
import {
  isTensor,
  MercerError,
  type DeviceLike,
  type LoadOptions,
  type OutOption,
  type Tensor,
} from '@mercer/tensor';
import {
  assertTensor,
  CallSteps,
  addInnerProducts,
  addSplitRows,
  coreOf,
  Operation,
  pointerAt,
  productsOf,
  sizeOfShape,
  type CallPlan,
  type FreeOptions,
  type ProductRows,
  type ProgramProblem,
  type StepArguments,
} from '@mercer/tensor/operation';
import { CallInputs } from './call-inputs.js';
import { checkPreparedFor } from './check-prepared.js';
import { launchValues, numbersOf, valuesOf, type LaunchValues } from './launch-values.js';
import {
  freshOperand,
  inputOperand,
  outOperand,
  pairwiseScalars,
  pairwiseShape,
  problemLayouts,
  type MatrixOperand,
  type MatrixOperands,
  type PairwiseShape,
} from './operands.js';
import { parameterTensors, type PairwiseSpec } from './pairwise-spec.js';
import { placeAll, type PairwiseInput } from './place.js';
import { boundScale, preparedRows, type BoundRows } from './prepared-rows.js';
import { problemKey } from './problem-key.js';

/** What a pairwise operation computes, and of which rows; b is undefined where there is one input. */
export type PairwiseArguments = readonly [
  spec: PairwiseSpec,
  a: PairwiseInput,
  b: PairwiseInput | undefined,
];

/** What prepared calls know of their examples. */
export interface PairwiseExample<O> {
  readonly spec: PairwiseSpec;
  readonly options: O;
  readonly shape: Pick<PairwiseShape, 'dtype' | 'device' | 'k'>;
  readonly operands: MatrixOperands;
  /** Whether b was left out. */
  readonly one: boolean;
  /** Whether its kernels are there for products on tensor cores too. */
  readonly products: boolean;
}

/** Options of a call that say nothing about what is computed. */
interface ExecuteOptions extends OutOption, LoadOptions {
  readonly device?: DeviceLike | undefined;
}

/** What pairwise operations differ in. */
export interface PairwiseRules<O extends ExecuteOptions, G extends readonly unknown[]> {
  readonly what: string;
  readonly options: OptionNames<O>;
  readonly prepareOptions: Partial<OptionNames<O>>;
  readonly freeOptions: Partial<OptionNames<O>> & OptionNames<FreeOptions>;
  /**
   * What a call computes, and its options without what a caller can change later; `prepared` where it is a prepared call.
   *
   * @throws MercerError INVALID_ARGUMENT
   */
  readonly read: (
    given: G,
    options: O,
    prepared?: PairwiseExample<O>,
  ) => readonly [args: PairwiseArguments, options: O];
}

/**
 * An operation over pairs of rows: `cdist` and `runKernel`. Everything is checked, copied where a kernel cannot read it, and compiled
 * before the first write to the output.
 */
export function pairwiseOperation<O extends ExecuteOptions, G extends readonly unknown[]>({
  read,
  ...names
}: PairwiseRules<O, G>): Operation<PairwiseArguments, O, PairwiseExample<O>, G> {
  return new Operation<PairwiseArguments, O, PairwiseExample<O>, G>({
    ...names,
    snapshot: read,
    identify: ([spec, a, b], { out }) => {
      const inputs: Tensor[] = [];
      if (isTensor(a)) inputs.push(a);
      if (isTensor(b)) inputs.push(b);
      const isPlaced = inputs.length < (b === undefined ? 1 : 2);
      for (const { tensor } of parameterTensors(spec)) inputs.push(tensor);
      return { key: isPlaced ? undefined : specKey(spec), tensors: { inputs, outs: [out] } };
    },
    place: async ([spec, a, b], options, made) => {
      const beside = parameterTensors(spec).map(({ tensor }) => tensor);
      const inputs = b === undefined ? [a] : [a, b];
      const [x = a, y] = await placeAll(spec.what, inputs, options, beside, made);
      return [spec, x, y];
    },
    plan: planCall,
  });
}

const keys = new WeakMap<PairwiseSpec, string>();

/** All of a spec that checks and plans read, numbers apart that kernels take anew. */
export function specKey(spec: PairwiseSpec): string {
  let key = keys.get(spec);
  if (key !== undefined) return key;
  const { expressions, p, diagonal, rows, symmetric, align } = spec;
  const { inner, outer, reduce } = expressions;
  key = `${inner.id} ${outer.id} ${reduce} ${p} ${symmetric} ${align}`;
  if (diagonal !== undefined) key += ` ${diagonal.mode} ${diagonal.offset}`;
  if (rows !== undefined) {
    const { normalise, scale } = rows;
    key += ` ${normalise} ${scale === undefined ? '' : isTensor(scale) ? 'scale*' : 'scale'}`;
  }
  for (const { name, value } of valuesOf(spec)) key += isTensor(value) ? `|${name}*` : `|${name}`;
  keys.set(spec, key);
  return key;
}

function planCall<O extends ExecuteOptions>(
  [spec, a, b]: PairwiseArguments,
  options: O,
  prepared?: PairwiseExample<O> | 'example',
): CallPlan<PairwiseExample<O>> {
  const { what } = spec;
  const { out } = options;
  const example = prepared === 'example' ? undefined : prepared;
  if (out !== undefined) assertTensor(out, `${what}: out`);
  if (example !== undefined) checkInputs(what, example.one, b === undefined);
  assertTensor(a, `${what}: a`);
  if (b !== undefined) assertTensor(b, `${what}: b`);
  const beside = parameterTensors(spec);
  const shape = pairwiseShape(what, a, b ?? a, beside);
  if (prepared === undefined) spec.check?.(shape.dtype);
  const read = [...(b === undefined ? [a] : [a, b]), ...beside.map(({ tensor }) => tensor)];
  const tensors = { inputs: read, outs: [out] };
  const steps = new CallSteps(coreOf(shape.device), tensors);
  const inputs = new CallInputs(what, steps, read, prepared === undefined);
  const like = example?.operands;
  const target: BoundRows = {
    view: steps.result({ shape: shape.outShape, dtype: shape.dtype }),
    operand:
      out === undefined
        ? freshOperand(shape, prepared && 'row')
        : outOperand(what, out, shape, read, like?.[2].layout ?? (prepared && 'row')),
  };
  const rowsOf = (name: 'a' | 'b', x: Tensor, layout?: MatrixOperand['layout']): BoundRows =>
    inputs.readable(name, x, (view) => inputOperand(view, shape, layout), shape.batchShape);
  const x = rowsOf('a', a, like?.[0].layout);
  const y = b === undefined || b === a ? x : rowsOf('b', b, like?.[1].layout);
  const operands: MatrixOperands = [x.operand, y.operand, target.operand];
  if (example !== undefined) checkPrepared(what, shape, operands, example);
  if (prepared !== undefined) spec.check?.(shape.dtype);
  const launch = {
    like: example?.operands,
    isPrepared: prepared !== undefined,
    products: example?.products ?? true,
  };
  const products = addSteps(spec, inputs, shape, [x, y, target], launch);
  const numbers = numbersOf(spec);
  const anew = Object.keys(numbers).length > 0 || spec.check !== undefined;
  const { dtype, device, k } = shape;
  return {
    tensors,
    steps,
    // the expressions, whose ids are in the key
    holds: spec.expressions,
    scalars: anew
      ? (_: O, [again]: PairwiseArguments) => {
          again.check?.(dtype);
          return numbersOf(again);
        }
      : undefined,
    example: {
      spec,
      options: { ...options, out: undefined },
      shape: { dtype, device, k },
      operands,
      one: b === undefined,
      products,
    },
  };
}

/** The launches of a call, and whether products on tensor cores are among them. */
function addSteps(
  spec: PairwiseSpec,
  inputs: CallInputs,
  shape: PairwiseShape,
  [x, y, target]: readonly [BoundRows, BoundRows, BoundRows],
  launch: PairwiseLaunch,
): boolean {
  const { steps } = inputs;
  const values = launchValues(spec, inputs, shape);
  let [a, b] = [x, y];
  if (spec.rows !== undefined) {
    const scale = boundScale(inputs, spec, shape);
    const prepare = (role: 'a' | 'b', from: BoundRows): BoundRows =>
      preparedRows(inputs, role, spec.rows!, scale, shape, from);
    a = prepare('a', x);
    b = x === y ? a : prepare('b', y);
  }
  const isExample = launch.isPrepared && launch.like === undefined;
  if (sizeOfShape(shape.outShape) === 0 && !isExample) return false;
  return addPairwise(steps, spec, shape, [a, b, target], values, launch);
}

/** What a launch over pairs of rows may have to fit. */
export interface PairwiseLaunch {
  /** The operands that a kernel was prepared for. */
  readonly like?: MatrixOperands | undefined;
  /** Whether later calls may bring operands of another alignment and other numbers of rows. */
  readonly isPrepared: boolean;
  /** Whether products on tensor cores may compute squared distances. */
  readonly products: boolean;
}

/**
 * The launch of a pairwise kernel over rows as they are, and whether products on tensor cores compute it. What is prepared has kernels beside its own
 * for operands that are not aligned, and the direct ones for numbers of rows that do not pay for products.
 */
export function addPairwise(
  steps: CallSteps,
  spec: PairwiseSpec,
  shape: PairwiseShape,
  [a, b, target]: readonly [BoundRows, BoundRows, BoundRows],
  values: LaunchValues,
  { like, isPrepared, products: isAllowed }: PairwiseLaunch,
): boolean {
  const operands: MatrixOperands = [a.operand, b.operand, target.operand];
  const wanted = like === undefined || !spec.align ? operands : alignedLike(operands, like);
  const { m, n, k, batch } = shape;
  const problemOf = (
    of: MatrixOperands,
    config?: ProductsConfig,
  ): ProgramProblem<PairwisePlan> & { holds: PairwiseProblem } => {
    const problem = { ...pairwiseProblem(spec, shape, of), products: config };
    return {
      key: problemKey(problem),
      // The expressions are held, so that their ids, which are in the key, are not given to others.
      holds: problem,
      plan: (limits) => planPairwise(problem, limits),
      emit: emitPairwise,
    };
  };
  const programOf = (of: MatrixOperands, config?: ProductsConfig): string =>
    problemKey({
      ...pairwiseProblem(spec, shape, of),
      m: 0,
      n: 0,
      batch: 0,
      products: config,
    });
  const launch = {
    values: m * n * k * batch,
    pointers: {
      a: pointerAt(a.view),
      b: pointerAt(b.view),
      out: pointerAt(target.view),
      ...values.pointers,
    },
    scalars: { ...pairwiseScalars(shape, operands, spec.p ?? 1), ...values.scalars },
  };
  const products = isAllowed ? productsOf(shape.device, problemOf(wanted).holds) : undefined;
  if (isPrepared && like === undefined) {
    const others: [MatrixOperands, ProductsConfig?][] = [[unaligned(operands)]];
    if (products !== undefined) others.push([wanted], [unaligned(operands), products]);
    for (const other of others) steps.alsoPrepareProgram(programOf(...other), problemOf(...other));
  }
  if (products === undefined) {
    steps.addProgram(problemOf(wanted), launch, {
      program: programOf(wanted),
      tells: (parts) => parts,
    });
    return false;
  }
  const norms = addProducts(steps, spec.what, shape, [a, b, target], products);
  steps.addProgram(
    problemOf(wanted, products),
    { ...launch, pointers: { ...launch.pointers, ...norms } },
    { program: programOf(wanted, products), tells: (parts) => parts },
  );
  return true;
}

/** The products of rows on tensor cores, written where the output goes, and the norms, which a pass behind them adds. */
function addProducts(
  steps: CallSteps,
  what: string,
  { m, n, k }: PairwiseShape,
  [a, b, target]: readonly [BoundRows, BoundRows, BoundRows],
  config: ProductsConfig,
): StepArguments['pointers'] {
  const rowsOf = ({ view, operand }: BoundRows, rows: number): ProductRows => ({
    view,
    rows,
    leadingStride: operand.leadingStride,
  });
  const split = addSplitRows(steps, { a: rowsOf(a, m), b: rowsOf(b, n) }, k, config);
  const ldo = target.operand.leadingStride;
  const all = { first: 0, count: m, out: target.view, columns: n, ldo };
  addInnerProducts(steps, { what, config, ...split, ...all });
  return { normsA: pointerAt(split.a.norms), normsB: pointerAt(split.b.norms) };
}

/** The problem of a call over operands of these shapes and layouts. */
export function pairwiseProblem(
  spec: PairwiseSpec,
  shape: PairwiseShape,
  operands: MatrixOperands,
): PairwiseProblem {
  const { dtype, m, n, k, batch } = shape;
  const { expressions, p, parameters, diagonal } = spec;
  const { inner, outer, reduce } = expressions;
  return {
    inner,
    outer,
    reduce,
    dtype,
    m,
    n,
    k,
    batch,
    ...problemLayouts(spec.align ? operands : unaligned(operands)),
    p,
    parameters: parameters.length > 0 ? parameters.map(({ name }) => name) : undefined,
    symmetric: spec.symmetric,
    diagonal: diagonal?.mode,
  };
}

/** The operands with nothing said about their alignment. */
function unaligned([a, b, out]: MatrixOperands): MatrixOperands {
  return [
    { ...a, aligned: false },
    { ...b, aligned: false },
    { ...out, aligned: false },
  ];
}

/** The alignment that was prepared for, where the operands have it, and else none. */
function alignedLike(operands: MatrixOperands, [a, b, out]: MatrixOperands): MatrixOperands {
  const [x, y, z] = unaligned(operands);
  const fits = [a, b, out].every(({ aligned }, at) => !aligned || operands[at]?.aligned === true);
  if (!fits) return [x, y, z];
  return [
    { ...x, aligned: a.aligned },
    { ...y, aligned: b.aligned },
    { ...z, aligned: out.aligned },
  ];
}

/** Whether a prepared call has as many inputs as its example. @throws MercerError INVALID_ARGUMENT */
export function checkInputs(what: string, exampleIsOne: boolean, isOne: boolean): void {
  if (exampleIsOne === isOne) return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    exampleIsOne
      ? `${what}: prepared for one input, called with two. Leave b out, or prepare another with b.`
      : `${what}: prepared for two inputs, called with one. Pass b, or prepare another without it.`,
  );
}

/** @throws MercerError SHAPE_MISMATCH */
export function checkFeatures(what: string, k: number, fixed: number): void {
  if (k === fixed) return;
  throw new MercerError(
    'SHAPE_MISMATCH',
    `${what}: prepared for ${fixed} features, called with ${k}. Prepare another for ${k}.`,
  );
}

const NAMES = ['a', 'b', 'out'] as const;

function checkPrepared(
  what: string,
  shape: PairwiseShape,
  operands: MatrixOperands,
  { shape: fixed, operands: wanted }: PairwiseExample<unknown>,
): void {
  checkPreparedFor(what, shape, fixed);
  checkFeatures(what, shape.k, fixed.k);
  for (const [at, { layout }] of operands.entries()) {
    if (layout === wanted[at]?.layout) continue;
    throw new MercerError(
      'NOT_CONTIGUOUS',
      `${what}: ${NAMES[at] ?? 'operand'} is ${layout}-major and was prepared as ${wanted[at]?.layout}-major. Prepare another for this layout.`,
    );
  }
}
