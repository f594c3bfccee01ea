import type { DescriptorParts } from '@mercer/kernels';
import { describeValue } from '@mercer/options';
import {
  isTensor,
  MercerError,
  type LoadOptions,
  type StreamOption,
  type Tensor,
} from '@mercer/tensor';
import {
  assertTensor,
  CallSteps,
  checkOut,
  coreOf,
  differentiable,
  flatArguments,
  LOAD_OPTIONS,
  nestedLike,
  Operation,
  STREAM_OPTION,
  viewsOverlap,
  callsWhenArrived,
  type CallPlan,
} from '@mercer/tensor/operation';
import { isSumStored } from './backward-formulas.js';
import type { BackwardSpec, BackwardVariable } from './backward-spec.js';
import { BackwardSteps } from './backward-steps.js';
import { refuseBlocks } from './blocks/compute-blocks.js';
import { ofRowGradients } from './batch-rules.js';
import { CallInputs } from './call-inputs.js';
import { checkPreparedFor } from './check-prepared.js';
import { checkUpstream } from './check-upstream.js';
import { composedBackward, type ComposedCall } from './composed-backward.js';
import type { GradientsByLabel } from './gradients-by-label.js';
import { checkParameter } from './kernel-parameter.js';
import { pairwiseShape, type PairwiseShape } from './operands.js';
import { rowsAndOptions } from './optional-rows.js';
import { checkFeatures, checkInputs, specKey } from './pairwise-operation.js';
import { parameterTensors, type PairwiseSpec } from './pairwise-spec.js';
import { checkScale } from './row-scale.js';

/** Where gradients are written, by what they are taken by. */
export type GradientOuts = Readonly<Record<string, Tensor | undefined>>;

/** Options that say nothing about what is computed. */
export interface BackwardOptions extends StreamOption, LoadOptions {
  readonly out?: GradientOuts | undefined;
}

/** What prepared calls know of their examples. */
interface Example {
  readonly shape: Pick<PairwiseShape, 'dtype' | 'device' | 'k'>;
  /** Whether b was left out. */
  readonly one: boolean;
  /** Whether sums of pairs are stored: calls of other sizes have the same kernels. */
  readonly stored: boolean;
}

type Arguments = readonly [spec: BackwardSpec, gradient: Tensor, a: Tensor, b: Tensor | undefined];

/**
 * The gradients of a call over pairs of rows, in the order of `wrt`: reductions of formulas that read the upstream gradient as values
 * of pairs, and sums over what was broadcast.
 */
const backwardOperation = new Operation<Arguments, BackwardOptions, Example>({
  what: ([{ forward }]) => forward.what,
  options: { out: true, ...STREAM_OPTION, ...LOAD_OPTIONS },
  freeOptions: { out: true, stream: true },
  snapshot: (args, options) => {
    const { out } = options;
    if (out !== undefined) checkNames(args[0].forward.what, labelsOf(args[0]), out);
    return [args, { ...options, out: out && { ...out } }];
  },
  identify: ([spec, gradient, a, b], { out }) => {
    const inputs = b === undefined ? [gradient, a] : [gradient, a, b];
    for (const { tensor } of parameterTensors(spec.forward)) inputs.push(tensor);
    return {
      key: keyOf(spec, b === undefined),
      tensors: { inputs, outs: outsOf(spec, out) },
    };
  },
  plan: planCall,
});

const byLabel = ({ wrt }: BackwardSpec, gradients: readonly Tensor[]): GradientsByLabel =>
  Object.fromEntries(wrt.map(({ label }, at) => [label, gradients[at]]));

/** A backward call as its face has read it: what it computes, of what, and how. */
export interface BackwardCall {
  readonly descriptor: DescriptorParts;
  /** With what traced values stand for in their places. */
  readonly spec: BackwardSpec;
  readonly tensors: readonly [gradient: Tensor, a: Tensor, b: Tensor | undefined];
  /** What was given for a parameter by its name to the caller. */
  readonly given: (label: string) => unknown;
  readonly options: BackwardOptions;
  /** Views of parameters, which the call disposes. */
  readonly made?: readonly Tensor[];
}

/** Calls of a function that are computed block by block. */
export interface BackwardBlocks {
  /** Whether a call is one. */
  readonly takes: (given: never) => boolean;
  readonly compute: (given: never) => Promise<unknown>;
}

/**
 * The function of a backward call, and its preparation, which resolves to `(gradient, a, b, options)`; b is left out, or a, where the example
 * is one matrix.
 *
 * @param read reads the arguments; its first one is what errors begin with. @throws MercerError INVALID_ARGUMENT
 */
export function backwardFunction(
  name: string,
  read: (what: string, given: never) => BackwardCall,
  blocks: BackwardBlocks,
): object {
  const call = async (...given: readonly unknown[]): Promise<GradientsByLabel> => {
    const { spec, tensors, options } = read(name, given as never);
    return byLabel(spec, await backwardOperation.call([spec, ...tensors], options));
  };
  const prepare = async (...given: readonly unknown[]): Promise<unknown> => {
    refuseBlocks(name, [], given.at(-1) as object | undefined);
    const { spec, tensors, options } = read(`${name}.prepare`, given as never);
    const prepared = await backwardOperation.prepare([spec, ...tensors], options);
    const isOne = tensors[2] === undefined;
    return (
      gradient: Tensor,
      a: Tensor,
      second?: Tensor | BackwardOptions,
      third?: BackwardOptions,
    ): GradientsByLabel => {
      const form = 'prepared(gradient, a, b, options)';
      const [b, free] = rowsAndOptions<Tensor, BackwardOptions>(name, form, second, third);
      return byLabel(spec, prepared([spec, gradient, a, isOne && b === a ? undefined : b], free));
    };
  };
  const inMemory = differentiable(
    name,
    call,
    {
      // parameters may be results that are not computed yet
      composedOf: (...given: readonly unknown[]) =>
        callsWhenArrived(flatArguments(given), async (all) =>
          composed(read(name, nestedLike(given, all) as never)),
        ),
    },
    ofRowGradients,
    'one call',
  );
  // First derivatives of calls in blocks are taken of it; it has none itself.
  const inBlocks = differentiable(
    name,
    (...given: readonly unknown[]) => blocks.compute(given as never),
    undefined,
  );
  return Object.assign(
    (...given: readonly unknown[]): Promise<unknown> =>
      blocks.takes(given as never) ? inBlocks(...given) : inMemory(...given),
    { prepare },
  );
}

/** The same call by operations that have derivatives. @throws MercerError */
async function composed({
  descriptor,
  spec,
  tensors: [gradient, a, b],
  given,
  made = [],
}: BackwardCall): Promise<GradientsByLabel> {
  const { forward } = spec;
  try {
    const shape = pairwiseShape(forward.what, a, b ?? a, parameterTensors(forward));
    checkUpstream(forward.what, gradient, shape);
    const call = { descriptor, spec, shape, gradient, a, b, given };
    return await composedBackward(call as ComposedCall);
  } finally {
    for (const one of made) one.dispose();
  }
}

/** All of a spec that plans read, numbers included: they are written to memory that the kernels read. */
function keyOf({ forward, open, wrt }: BackwardSpec, isOne: boolean): string {
  const { inner, outer } = open.expressions;
  const values = [...forward.parameters, ...open.parameters].map(
    ({ name, value }) => `${name}=${isTensor(value) ? '*' : value}`,
  );
  const scale = forward.rows?.scale;
  const names = wrt.map(({ label, kind, name, value }) =>
    [label, kind, name, isTensor(value) ? `[${value.shape.join()}]` : ''].join(),
  );
  return [
    specKey(forward),
    ...[isOne, inner.id, outer.id],
    ...[...values, isTensor(scale) ? '*' : scale, ...names],
  ].join(' ');
}

function planCall(
  [spec, gradient, a, b]: Arguments,
  { out }: BackwardOptions,
  prepared?: Example | 'example',
): CallPlan<Example> {
  const { forward, open, wrt } = spec;
  const { what } = forward;
  assertTensor(gradient, `${what}: gradient`);
  assertTensor(a, `${what}: a`);
  if (b !== undefined) assertTensor(b, `${what}: b`);
  const beside = parameterTensors(forward);
  if (typeof prepared === 'object') checkInputs(what, prepared.one, b === undefined);
  const shape = pairwiseShape(what, a, b ?? a, beside);
  const { dtype, device, k } = shape;
  if (typeof prepared === 'object') {
    checkPreparedFor(what, shape, prepared.shape);
    checkFeatures(what, k, prepared.shape.k);
  }
  if (k > MOST_FEATURES) {
    throw new MercerError(
      'UNSUPPORTED',
      `${what}: the data have ${k} features, and gradients are computed of up to ${MOST_FEATURES}. Cut the features into parts.`,
    );
  }
  forward.check?.(dtype);
  checkUpstream(what, gradient, shape);
  checkValues(forward, shape);
  const rows = b === undefined ? [a] : [a, b];
  const read = [gradient, ...rows, ...beside.map(({ tensor }) => tensor)];
  const outs = outsOf(spec, out);
  checkOuts(spec, outs, shape, read, [a, b]);
  const tensors = { inputs: read, outs };
  const steps = new CallSteps(coreOf(shape.device), tensors);
  const stored =
    typeof prepared === 'object' ? prepared.stored : isSumStored(forward.expressions, shape);
  const call = new BackwardSteps(spec, new CallInputs(what, steps, read, true), shape, gradient, {
    stored,
    isPrepared: prepared !== undefined,
  });
  const results = wrt.map((one) => steps.rowMajorResult({ shape: shapeOf(one, a, b), dtype }));
  call.add(a, b, results);
  return {
    tensors,
    steps,
    // the expressions, whose ids are in the key, and the formulas, whose ids are in those of the kernels
    holds: [forward.expressions, open.expressions, call.formulas],
    example: { shape: { dtype, device, k }, one: b === undefined, stored },
  };
}

/** Components of a vector of a formula. */
const MOST_FEATURES = 2 ** 24;

/** Row numbers are compared in the data type. */
const MOST_ROWS = { float32: 2 ** 24, float64: 2 ** 53 };

/** The values of a call, whatever is differentiated by. @throws MercerError as the forward call does, and UNSUPPORTED */
function checkValues(
  { what, parameters, diagonal, rows }: PairwiseSpec,
  shape: PairwiseShape,
): void {
  for (const { label, value } of parameters) {
    if (isTensor(value)) checkParameter(what, label, value, value.shape, shape);
  }
  const scale = rows?.scale;
  if (isTensor(scale)) checkScale(what, scale, shape);
  if (diagonal === undefined) return;
  const { value, mode } = diagonal;
  if (isTensor(value)) checkParameter(what, 'regularization', value, value.shape, shape);
  const { m, n, dtype } = shape;
  if (mode === 'add' || Math.max(m, n) <= MOST_ROWS[dtype]) return;
  throw new MercerError(
    'UNSUPPORTED',
    `${what}: a regularised diagonal of ones over ${m} and ${n} rows of ${dtype}, whose numbers are exact up to ${MOST_ROWS[dtype]}. Cut the rows into parts.`,
  );
}

const outsOf = ({ wrt }: BackwardSpec, out: GradientOuts | undefined): (Tensor | undefined)[] =>
  wrt.map(({ label }) => (out !== undefined && Object.hasOwn(out, label) ? out[label] : undefined));

const labelsOf = ({ wrt }: BackwardSpec): readonly string[] => wrt.map(({ label }) => label);

/** @throws MercerError INVALID_ARGUMENT */
export function checkNames(what: string, names: readonly string[], out: unknown): void {
  if (typeof out !== 'object' || out === null || isTensor(out)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: out is ${describeValue(out)}. Pass an object with a tensor for each gradient that is to be written to one, of ${names.join(', ')}.`,
    );
  }
  const stranger = Object.keys(out).find((name) => !names.includes(name));
  if (stranger === undefined) return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: out has '${stranger}', by which nothing is differentiated. Use some of ${names.join(', ')}.`,
  );
}

/** @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, OVERLAP, DISPOSED */
function checkOuts(
  { forward: { what }, wrt }: BackwardSpec,
  outs: readonly (Tensor | undefined)[],
  { dtype, device }: PairwiseShape,
  inputs: readonly Tensor[],
  [a, b]: readonly [Tensor, Tensor | undefined],
): void {
  const written: Tensor[] = [];
  for (const [at, out] of outs.entries()) {
    const one = wrt[at];
    if (out === undefined || one === undefined) continue;
    const shaped = { shape: shapeOf(one, a, b), dtype, device };
    checkOut(out, shaped, inputs, `${what}: ${one.label}`);
    const other = written.find((before) => viewsOverlap(before, out));
    if (other !== undefined) {
      throw new MercerError(
        'OVERLAP',
        `${what}: the tensors of out share memory: the ${other.label} and the ${out.label}. Pass tensors of their own.`,
      );
    }
    written.push(out);
  }
}

function shapeOf(
  { kind, value }: BackwardVariable,
  a: Tensor,
  b: Tensor | undefined,
): readonly number[] {
  if (kind === 'a') return a.shape;
  if (kind === 'b') return b?.shape ?? [];
  return isTensor(value) ? value.shape : [];
}
