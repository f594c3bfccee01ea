import type { DType } from '@mercer/kernels';
import type { OptionNames } from '@mercer/options';
import { sizeOfShape } from '../checked-size.js';
import { LOAD_OPTIONS, type Device, type LoadOptions } from '../device.js';
import { checkInPlace } from '../map-check.js';
import { addMap } from '../map-kernel.js';
import { CallSteps } from '../operation/call-steps.js';
import { Operation } from '../operation/operation.js';
import { checkOutView, coreOf } from '../operations.js';
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

/** Computes a chain in one kernel, behind the operands that have to be there before. @throws MercerError */
export async function launchChain(
  root: LaunchableChain,
  options: Omit<ChainOptions, 'numbers'>,
): Promise<Tensor> {
  const { stream, signal } = options;
  const { made, ...bound } = bindChain(root, await launchedBefore(root, { stream, signal }));
  try {
    // its own reads, and those of its parts, are no reason to wait before it writes
    if (options.out !== undefined) root.spend();
    const [result] = await operation.call([root, bound], { ...options, numbers: bound.numbers });
    return result as Tensor;
  } finally {
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
