import { isSpread, type DType, type ReduceKind } from '@mercer/kernels';
import { describeValue, own, type OptionNames } from '@mercer/options';
import { sizeOfShape } from '../checked-size.js';
import { keptPlace, memoryAmong, Turn } from '../call-order.js';
import { LOAD_OPTIONS, type LoadOptions } from '../device.js';
import { MercerError } from '../mercer-error.js';
import {
  failed,
  hasPlace,
  pending,
  pendingCall,
  pendingInPlace,
  pendingThere,
  type Pending,
} from '../pending.js';
import { thereOf } from '../there.js';
import { readOptions } from '../read-options.js';
import { assertTensor, isTensor, OUT_OPTION, type OutOption, type Tensor } from '../tensor.js';
import { HeldArguments } from '../trace/held-arguments.js';
import { unlessAborted } from '../unless-aborted.js';
import { checkAxes, reducedShape, type Axes } from './axes.js';
import { ChainResult } from './chain-result.js';
import { bindChain, type ChainRoot } from './chain-text.js';
import { isInteger, resultDType } from './dtype-rules.js';
import { presentOperand } from './elementwise.js';
import { LaterRead } from './later-read.js';
import { launchedBefore, readsAtOnce } from './launch-chain.js';
import { startReduction, type Reduction } from './launch-reduction.js';

/** Options of a reduction over axes. */
export interface ReductionOptions extends OutOption, LoadOptions {
  /** Axes that are reduced stay, with extent 1. Default: false. */
  readonly keepDims?: boolean | undefined;
}

/** Names of {@link ReductionOptions}. */
export const REDUCTION_OPTIONS: OptionNames<ReductionOptions> = {
  ...OUT_OPTION,
  ...LOAD_OPTIONS,
  keepDims: true,
};

/** What a reduction is called, and how it follows from a kind of the kernels. */
export type ReductionName = ReduceKind | 'mean';

/** Indices below it are int32. */
const INT32_LIMIT = 2 ** 31;

/** Of a result: whole numbers add up to int64, and have a mean in float32; both are computed in float64. */
function dtypes(
  name: ReductionName,
  dtype: DType,
  count: number,
): Pick<Reduction, 'dtype' | 'computesIn'> {
  const { dtype: same, computesIn } = resultDType('common', [dtype]);
  const total = isInteger(dtype) ? 'float64' : computesIn;
  switch (name) {
    case 'any':
    case 'all':
      return { dtype: 'bool', computesIn };
    case 'argMin':
    case 'argMax':
      return { dtype: count < INT32_LIMIT ? 'int32' : 'int64', computesIn };
    case 'mean':
      return { dtype: resultDType('floating', [dtype]).dtype, computesIn: total };
    case 'sum':
    case 'prod':
      return { dtype: same.startsWith('float') ? same : 'int64', computesIn: total };
    default:
      return { dtype: same, computesIn };
  }
}

/** Whether the result has the shape of what it is taken of. */
const isOfEach = (name: ReductionName): boolean => name !== 'mean' && isSpread(name);

/** What a reduction is part of. */
export interface ReductionUse {
  /** For messages; default: its own name. */
  readonly what?: string | undefined;
  /** What is taken off the number of elements that a mean divides by; default 0. */
  readonly correction?: number | undefined;
}

const NO_USE: Required<ReductionUse> = { what: undefined, correction: undefined };

/**
 * A reduction over axes; enqueued at once, in one kernel with the elementwise results that it is taken of on a GPU.
 *
 * @throws MercerError INVALID_ARGUMENT at the call
 */
export function reduction(
  name: ReductionName,
  x: unknown,
  axes?: Axes,
  given?: ReductionOptions,
  part?: ReductionUse,
): Pending<Tensor> {
  const { what = name, correction = 0 } =
    part === undefined ? NO_USE : own(part, 'what', 'correction');
  const options = readOptions(what, given, REDUCTION_OPTIONS);
  const use = { what, correction };
  const present = presentOperand(x);
  if (present === undefined) {
    const inPlace = keptPlace();
    const make = hasPlace(x) ? pendingInPlace : pending;
    const held = new HeldArguments([x]);
    const work = async (): Promise<Tensor> => {
      try {
        const [made] = await held.known();
        const start = (): Tensor | Promise<Tensor> =>
          reduceNow(name, checked(what, made), axes, options, use);
        return await inPlace(start);
      } finally {
        held.release();
      }
    };
    return make(work());
  }
  const start = (): Tensor | Promise<Tensor> =>
    reduceNow(name, checked(what, present), axes, options, use);
  // of a promise nothing was known at the call that could be refused there
  if (thereOf(x) !== undefined) return pendingCall(start);
  const started = start();
  return started instanceof Promise ? pendingInPlace(started) : pendingThere(started);
}

function checked(name: string, x: unknown): Tensor | ChainResult {
  if (x instanceof ChainResult) return x;
  assertTensor(x, `${name}: x`);
  return x;
}

function reduceNow(
  name: ReductionName,
  x: Tensor | ChainResult,
  axes: Axes | undefined,
  { keepDims = false, out, stream, debug, signal }: ReductionOptions,
  { what, correction }: { readonly what: string; readonly correction: number },
): Tensor | Promise<Tensor> {
  const { shape, device } = x;
  if (typeof (keepDims as unknown) !== 'boolean') {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: keepDims is ${describeValue(keepDims)}. Pass true or false.`,
    );
  }
  const reduced = checkAxes(what, axes, shape);
  const count = sizeOfShape(reduced.map((axis) => shape[axis] ?? 1));
  const { dtype, computesIn } = dtypes(name, x.dtype, count);
  const described = {
    what,
    kind: name === 'mean' ? 'sum' : name,
    shape,
    axes: reduced,
    outShape: isOfEach(name) ? shape : reducedShape(shape, reduced, keepDims),
    dtype,
    computesIn,
    device,
    meanOver: name === 'mean' ? Math.max(0, count - correction) : undefined,
  } as const;
  return launched(x, described, { out, stream, debug, signal });
}

/** The tensor itself where it is launched within the call. */
function launched(
  x: Tensor | ChainResult,
  described: Reduction,
  options: OutOption & LoadOptions,
): Tensor | Promise<Tensor> {
  try {
    return begun(x, described, options);
  } catch (error) {
    // what was checked at the call has been: the rest is told to who waits
    return failed(error);
  }
}

function begun(
  x: Tensor | ChainResult,
  described: Reduction,
  options: OutOption & LoadOptions,
): Tensor | Promise<Tensor> {
  if (isTensor(x)) return reduced(LaterRead.of(x), NONE, described, options);
  if (!x.joins(described.computesIn)) {
    if (x.tensor !== undefined && options.out === undefined)
      return reduced(LaterRead.of(x.tensor), NONE, described, options);
  } else if (options.out === undefined && readsAtOnce(x)) {
    x.hold();
    return reduced(x, NONE, described, options, () => x.spend());
  }
  return launchedInTurn(x, described, options);
}

async function launchedInTurn(
  x: ChainResult,
  described: Reduction,
  options: OutOption & LoadOptions,
): Promise<Tensor> {
  const { stream, signal, out } = options;
  const joins = x.joins(described.computesIn);
  const read = joins ? x.chain.reads.map(({ storage }) => storage) : [];
  const turn = new Turn(read, memoryAmong([out]));
  try {
    if (!joins) {
      const tensor = x.tensor ?? (await unlessAborted(x.launch({ stream }), signal));
      return await turn.run(() => reduced(LaterRead.of(tensor), NONE, described, options));
    }
    x.hold();
    const before = await launchedBefore(x, { stream, signal });
    await turn.come(signal);
    return await turn.run(() => reduced(x, before, described, options));
  } finally {
    turn.end();
    if (joins) x.spend();
  }
}

const NONE: Awaited<ReturnType<typeof launchedBefore>> = new Map();

function reduced(
  root: ChainRoot,
  before: typeof NONE,
  described: Reduction,
  options: OutOption & LoadOptions,
  spend?: () => void,
): Tensor | Promise<Tensor> {
  const chain = bindChain(root, before);
  const done = (): void => {
    for (const one of chain.made) one.dispose();
    spend?.();
  };
  let started: Tensor | Promise<Tensor> | undefined;
  try {
    started = startReduction(described, chain, options);
  } finally {
    if (!(started instanceof Promise)) done();
  }
  return started instanceof Promise ? started.finally(done) : started;
}
