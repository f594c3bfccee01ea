import { constant, variable, type RealExpr } from '@mercer/formula';
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
import type { Unlaunched } from '../unlaunched.js';
import { broadcastLayout } from '../views.js';
import type { ChainOperand, ChainResult } from './chain-result.js';
import { LaterRead } from './later-read.js';
import { OPERATORS, type Operator } from './operators.js';

/** A chain with the tensors that it reads in the order of its text. */
interface BoundChain {
  readonly root: ChainResult;
  /** The chain with its tensors as x0, x1, ... and its numbers as p0, p1, ... in the order in which they stand. */
  readonly text: string;
  readonly tensors: readonly Tensor[];
  readonly numbers: readonly number[];
  /** Of an operand, where it stands among the tensors. */
  readonly places: ReadonlyMap<ChainOperand, number>;
}

interface ChainOptions extends OutOption, LoadOptions {
  readonly numbers?: readonly number[] | undefined;
}

const CHAIN_OPTIONS: OptionNames<ChainOptions> = { ...OUT_OPTION, ...LOAD_OPTIONS, numbers: true };

const operation = new Operation<readonly [chain: BoundChain], ChainOptions>({
  what: 'elementwise operation',
  options: CHAIN_OPTIONS,
  freeOptions: OUT_OPTION,
  identify: ([{ root, text, tensors }], { out }) => ({
    key: `${root.dtype} ${root.computesIn} ${text}`,
    tensors: { inputs: tensors, outs: [out] },
  }),
  plan: ([{ root, tensors: inputs, numbers, places }], { out }) => {
    const { shape, dtype, device, computesIn } = root;
    if (out !== undefined) checkOutput(out, { shape, dtype, device }, inputs);
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
    const expr = formulaOf(root, places);
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

/** Computes a chain in one kernel, behind the operands that have to be there before. @throws MercerError */
export async function launchChain(
  root: ChainResult,
  options: Omit<ChainOptions, 'numbers'>,
): Promise<Tensor> {
  const { stream, signal } = options;
  const before = new Map<ChainOperand, Tensor>();
  for (const one of root.before) before.set(one, await one.launch({ stream, signal }));
  const { made, ...chain } = bind(root, before);
  try {
    // its own reads are no reason to wait before it writes
    if (options.out !== undefined) root.release();
    const [result] = await operation.call([chain], { ...options, numbers: chain.numbers });
    return result as Tensor;
  } finally {
    for (const one of made) one.dispose();
  }
}

/** Computed in the kernel of the node that reads it. */
const isInner = (node: ChainResult, operand: ChainOperand): operand is ChainResult =>
  typeof operand === 'object' &&
  'operands' in operand &&
  !(node.before as readonly ChainOperand[]).includes(operand);

/** Writes a chain down, with the tensors that it reads now. */
function bind(
  root: ChainResult,
  before: ReadonlyMap<ChainOperand, Tensor>,
): BoundChain & { readonly made: readonly Tensor[] } {
  const tensors: Tensor[] = [];
  const made: Tensor[] = [];
  const numbers: number[] = [];
  const places = new Map<ChainOperand, number>();
  const seen = new Map<ChainResult, number>();
  const tensorAt = (operand: LaterRead | Unlaunched): string => {
    let place = places.get(operand);
    if (place === undefined) {
      const tensor = operand instanceof LaterRead ? operand.bound() : before.get(operand);
      if (tensor === undefined) throw new Error('what a chain reads is there before it');
      if (operand instanceof LaterRead && tensor !== operand.tensor) made.push(tensor);
      place = tensors.push(tensor) - 1;
      places.set(operand, place);
    }
    return `x${place}`;
  };
  const textOf = (node: ChainResult): string => {
    const known = seen.get(node);
    if (known !== undefined) return `#${known}`;
    seen.set(node, seen.size);
    let text = `${node.operator}(`;
    for (const one of node.operands) {
      if (typeof one === 'number') text += `p${numbers.push(one) - 1},`;
      else if ('literal' in one) text += `${one.literal},`;
      else text += `${isInner(node, one) ? textOf(one) : tensorAt(one)},`;
    }
    return `${text})`;
  };
  return { root, text: textOf(root), tensors, numbers, places, made };
}

/** The formula of a chain in the names of its text. */
function formulaOf(root: ChainResult, places: ReadonlyMap<ChainOperand, number>): RealExpr {
  let numbers = 0;
  const seen = new Map<ChainResult, RealExpr>();
  const visit = (node: ChainResult): RealExpr => {
    const known = seen.get(node);
    if (known !== undefined) return known;
    const operands = node.operands.map((one): RealExpr => {
      if (typeof one === 'number') return variable(`p${numbers++}`);
      if ('literal' in one) return constant(one.literal);
      return isInner(node, one) ? visit(one) : variable(`x${places.get(one) ?? 0}`);
    });
    const operator: Operator = OPERATORS[node.operator];
    const formula = operator.formula(...operands);
    seen.set(node, formula);
    return formula;
  };
  return visit(root);
}

function checkOutput(
  out: Tensor,
  expected: { readonly shape: readonly number[]; readonly dtype: DType; readonly device: Device },
  inputs: readonly Tensor[],
): void {
  checkOutView(out, expected, [], 'out');
  for (const input of inputs) {
    const layout = broadcastLayout(input, expected.shape);
    const { dtype, storage, label } = input;
    checkInPlace('elementwise operation', out, { ...layout, dtype, storage, label });
  }
}
