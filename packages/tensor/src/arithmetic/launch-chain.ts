import { planMap, type DType } from '@mercer/kernels';
import type { OptionNames } from '@mercer/options';
import { sizeOfShape } from '../checked-size.js';
import { LOAD_OPTIONS, type Device, type LoadOptions } from '../device.js';
import { checkInPlace } from '../map-check.js';
import { mapKernel } from '../map.js';
import { CallSteps, pointerAt } from '../operation/call-steps.js';
import type { CallPointer } from '../operation/known-call.js';
import { Operation } from '../operation/operation.js';
import { checkOutView, coreOf } from '../operations.js';
import { OUT_OPTION, type OutOption, type Tensor } from '../tensor.js';
import type { LaunchOptions } from '../unlaunched.js';
import { broadcastLayout } from '../views.js';
import type { ChainNode, ChainOperand, LaunchableChain } from './chain.js';
import type { LaterRead } from './later-read.js';
import { bindChain, chainFormula, type BoundChain } from './chain-text.js';

interface ChainOptions extends OutOption, LoadOptions {
  readonly numbers?: readonly number[] | undefined;
}

const CHAIN_OPTIONS: OptionNames<ChainOptions> = { ...OUT_OPTION, ...LOAD_OPTIONS, numbers: true };

const operation = new Operation<readonly [root: ChainNode, bound: BoundChain], ChainOptions>({
  what: 'elementwise operation',
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
    const values = sizeOfShape(shape);
    if (values === 0) return { tensors, steps };
    const operands = inputs.map((tensor, k) => ({
      name: `x${k}`,
      dtype: tensor.dtype,
      strides: broadcastLayout(tensor, shape).strides,
    }));
    const parameters = Object.fromEntries(numbers.map((number, k) => [`p${k}`, number]));
    const expr = chainFormula(root, bound);
    const { plan, ...planned } = planMap(
      { expr, shape, out: to, inputs: operands, parameters, computesIn },
      device.limits,
    );
    const pointers: Record<string, CallPointer> = { out: pointerAt(to, planned.outOffset) };
    for (const [k, { index, offset }] of planned.inputs.entries()) {
      pointers[`x${k}`] = pointerAt(steps.input(index), offset);
    }
    const { key, kernel } = mapKernel(plan);
    steps.addKernel(key, kernel, { values, pointers, scalars: planned.scalars });
    const order = plan.parameters.map((name) => Number(name.slice(1)));
    const scalars = ({ numbers: given = [] }: ChainOptions): Record<string, number> =>
      Object.fromEntries(order.map((at, k) => [`p${k}`, given[at] ?? NaN]));
    return {
      tensors,
      steps,
      holds: expr, // whose id is in the key
      scalars: order.length === 0 ? undefined : scalars,
    };
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
