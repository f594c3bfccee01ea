import type { DType } from '@mercer/kernels';
import { own, type OptionNames } from '@mercer/options';
import { atPlace, Turn } from '../call-order.js';
import { sizeOfShape } from '../checked-size.js';
import { LOAD_OPTIONS, type Device, type LoadOptions } from '../device.js';
import { checkInPlace } from '../map-check.js';
import { addMap } from '../map-kernel.js';
import { CallSteps } from '../operation/call-steps.js';
import { only, Operation } from '../operation/operation.js';
import { checkOutView, coreOf } from '../operations.js';
import { streamFor } from '../stream-core.js';
import { OUT_OPTION, type OutOption, type Tensor } from '../tensor.js';
import type { LaunchOptions } from '../unlaunched.js';
import { broadcastLayout } from '../views.js';
import type { ChainNode, ChainOperand, LaunchableChain } from './chain.js';
import type { LaterRead } from './later-read.js';
import {
  bindChain,
  chainFormula,
  chainInputs,
  namedNumbers,
  type BoundChain,
} from './chain-text.js';

interface ChainOptions extends OutOption, LoadOptions {
  readonly numbers?: readonly number[] | undefined;
}

const CHAIN_OPTIONS: OptionNames<ChainOptions> = { ...OUT_OPTION, ...LOAD_OPTIONS, numbers: true };

const operation = new Operation<readonly [root: ChainNode, bound: BoundChain], ChainOptions>({
  what: ([root]) => root.chain.what,
  options: CHAIN_OPTIONS,
  freeOptions: OUT_OPTION,
  identify: ([root, { text, tensors }], { out }) => ({
    key: `${root.chain.dtype} ${root.chain.computesIn} ${text}`,
    tensors: { inputs: tensors, outs: [out] },
  }),
  plan: ([root, bound], { out }) => {
    const { tensors: inputs, numbers } = bound;
    const { shape, dtype, device, computesIn, what } = root.chain;
    if (out !== undefined) checkOutput(what, out, { shape, dtype, device }, inputs);
    const tensors = { inputs, outs: [out] };
    const steps = new CallSteps(coreOf(device), tensors);
    const to = steps.result({ shape, dtype });
    if (sizeOfShape(shape) === 0) return { tensors, steps };
    const expr = chainFormula(root, bound);
    const map = addMap(
      steps,
      {
        results: [{ expr, to }],
        shape,
        inputs: chainInputs(inputs, shape),
        parameters: namedNumbers(numbers),
        computesIn,
      },
      ({ numbers: given = [] }: ChainOptions) => namedNumbers(given),
    );
    return { tensors, steps, ...map };
  },
});

/** What has to be there before a chain, computed. */
export async function launchedBefore(
  root: LaunchableChain,
  options: LaunchOptions,
): Promise<ReadonlyMap<ChainOperand, LaterRead>> {
  const reads = new Map<ChainOperand, LaterRead>();
  for (const one of root.chain.before) reads.set(one, await root.launchedBefore(one, options));
  return reads;
}

const NOTHING: ReadonlyMap<ChainOperand, LaterRead> = new Map();

/** Whether what a chain reads is there, and no call that is not enqueued yet will write it. */
export const readsAtOnce = ({ chain }: LaunchableChain): boolean =>
  chain.before.length === 0 &&
  chain.reads.every(({ storage }) => storage.calls?.hasWriters !== true);

/**
 * As {@link launchChain}, without a turn of its own, where nothing has to be waited for before the call; undefined, with nothing done, elsewhere. The
 * tensor itself where it was launched within the call.
 *
 * @throws as `launchChain` rejects
 */
export function startChain(
  root: LaunchableChain,
  options: Omit<ChainOptions, 'numbers'>,
): Tensor | Promise<Tensor> | undefined {
  if (!readsAtOnce(root)) return undefined;
  const { out, stream, signal, debug } = own(options, 'out', 'stream', 'signal', 'debug');
  if (out !== undefined && out.storage.calls?.isEmpty === false) return undefined;
  const bound = bindChain(root, NOTHING);
  const done = (): void => {
    for (const one of bound.made) one.dispose();
    root.spend();
  };
  const start = (): Tensor[] | Promise<Tensor[]> =>
    operation.start([root, bound], { out, stream, signal, debug, numbers: bound.numbers });
  let started: Tensor[] | Promise<Tensor[]> | undefined;
  try {
    // its own reads, and those of its parts, are no reason to wait before it writes
    if (out !== undefined) root.spend();
    // what is written has a place of its own, behind what is read
    started = out === undefined ? atPlace(root.place, start) : start();
  } finally {
    if (!(started instanceof Promise)) done();
  }
  return started instanceof Promise ? started.then(only).finally(done) : only(started);
}

/**
 * Computes a chain in one kernel, behind the operands that have to be there before, with the elements that its tensors had at its place
 * among calls.
 *
 * @param writing the turn of the call that writes `out`
 * @throws MercerError
 */
export async function launchChain(
  root: LaunchableChain,
  options: Omit<ChainOptions, 'numbers'>,
  writing?: Turn,
): Promise<Tensor> {
  const { stream, signal, out } = own(options, 'stream', 'signal', 'out');
  const written = out?.storage;
  const queue = streamFor(root.chain.device, stream, root.chain.operator);
  if (writing === undefined) for (const one of root.chain.reads) one.keepBefore(root.place, queue);
  const read = root.chain.reads.map((one) => one.storage).filter((one) => one !== written);
  // what is to be read is unchanged until the call that writes `out`
  const reading = new Turn(read, [], writing?.place ?? root.place);
  const made: Tensor[] = [];
  try {
    const before = await launchedBefore(root, { stream, signal });
    await reading.come(signal);
    const { made: handles, ...bound } = bindChain(root, before);
    made.push(...handles);
    // its own reads, and those of its parts, are no reason to wait before it writes
    if (writing !== undefined) root.spend();
    await writing?.come(signal);
    const results = (writing ?? reading).run(() =>
      operation.call([root, bound], { ...options, numbers: bound.numbers }),
    );
    return only(await results);
  } finally {
    reading.end();
    for (const one of made) one.dispose();
  }
}

function checkOutput(
  what: string,
  out: Tensor,
  expected: { readonly shape: readonly number[]; readonly dtype: DType; readonly device: Device },
  inputs: readonly Tensor[],
): void {
  checkOutView(out, expected, [], what);
  for (const input of inputs) {
    const layout = broadcastLayout(input, expected.shape);
    const { dtype, storage, label } = input;
    checkInPlace(what, out, { ...layout, dtype, storage, label });
  }
}
