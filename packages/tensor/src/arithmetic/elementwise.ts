import { MAX_MAP_INPUTS } from '@mercer/kernels';
import { describeValue, type OptionNames } from '@mercer/options';
import { formatShape } from '../checked-size.js';
import { LOAD_OPTIONS, type LoadOptions } from '../device.js';
import { MercerError } from '../mercer-error.js';
import { isPending, pending } from '../pending.js';
import { readOptions } from '../read-options.js';
import { assertTensor, isTensor, OUT_OPTION, type OutOption, type Tensor } from '../tensor.js';
import { Unlaunched, type LaunchOptions } from '../unlaunched.js';
import { broadcastShapes } from '../views.js';
import { ChainResult, type ChainOperand } from './chain-result.js';
import { resultDType, type OperandDType } from './dtype-rules.js';
import { LaterRead } from './later-read.js';
import { OPERATORS, type Operator, type OperatorName } from './operators.js';

/** Options of an elementwise operation: with any of them it is launched at once. */
export interface ElementwiseOptions extends OutOption, LoadOptions {}

const ELEMENTWISE_OPTIONS: OptionNames<ElementwiseOptions> = { ...OUT_OPTION, ...LOAD_OPTIONS };

/** Operations of one kernel at most: longer texts take longer to compile than a second kernel costs. */
const MOST_OPERATIONS = 128;

/** A result whose operands are not all there: it is made of them when it is launched. */
class WaitingResult extends Unlaunched {
  readonly label: string;
  readonly #make: () => Promise<Made>;

  constructor(name: OperatorName, make: () => Promise<Made>) {
    super();
    this.label = `${name} (not computed yet)`;
    this.#make = make;
  }

  /** The operation on its operands, which may go on as part of a chain. */
  async made(): Promise<Made> {
    return this.tensor === undefined && !this.started
      ? this.#make()
      : { made: await this.launch() };
  }

  protected override async start(options: LaunchOptions): Promise<Tensor> {
    const { made } = await this.#make();
    return isTensor(made) ? made : made.launch(options);
  }

  protected override abandon(): void {
    // nothing is held
  }
}

/** In an object, so that a promise of it launches nothing. */
interface Made {
  readonly made: ChainResult | Tensor;
}

/**
 * An elementwise operation on operands that broadcast together. What it gives is launched when somebody awaits it, or uses it in
 * an operation that is not elementwise, and is one kernel with the elementwise results among its operands.
 *
 * @param operands as many as the operation takes: tensors, pending tensors and numbers
 * @throws MercerError INVALID_ARGUMENT, SHAPE_MISMATCH, DEVICE_MISMATCH, DISPOSED at the call; where an operand is
 *   pending and of unknown shape, the result is rejected with them
 */
export function elementwise(
  name: OperatorName,
  operands: readonly unknown[],
  options?: unknown,
): ChainResult | WaitingResult | Promise<Tensor> {
  const { arity }: Operator = OPERATORS[name];
  if (operands.length < arity || operands.slice(0, arity).includes(undefined)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${name}: an operand is missing. Pass ${arity}: tensors, or numbers beside a tensor.`,
    );
  }
  const result = combined(name, operands.slice(0, arity));
  if (options === undefined) return result;
  return pending(launchNow(name, result, options));
}

async function launchNow(
  name: OperatorName,
  result: ChainResult | WaitingResult,
  given: unknown,
): Promise<Tensor> {
  const options = readOptions(name, given as ElementwiseOptions, ELEMENTWISE_OPTIONS);
  const { out } = options;
  if (out !== undefined) assertTensor(out, `${name}: out`);
  const { made } = result instanceof WaitingResult ? await result.made() : { made: result };
  return isTensor(made) ? made : made.launchInto(out, options);
}

function combined(name: OperatorName, given: readonly unknown[]): ChainResult | WaitingResult {
  const operands = given.map(present);
  if (operands.every((one) => one !== undefined)) return chain(name, operands);
  return new WaitingResult(name, async () => ({ made: chain(name, await there(given)) }));
}

/** An operand of which shape and dtype are known. */
type Present = Tensor | ChainResult | number;

/** Undefined for a pending operand of which nothing is known yet. */
function present(operand: unknown): unknown {
  if (operand instanceof ChainResult || operand instanceof WaitingResult) {
    if (operand.tensor !== undefined) return operand.tensor;
    return operand instanceof ChainResult ? operand : undefined;
  }
  return isPending(operand) ? undefined : operand;
}

async function there(given: readonly unknown[]): Promise<unknown[]> {
  return Promise.all(
    given.map(async (one): Promise<unknown> => {
      if (one instanceof WaitingResult) return { made: (await one.made()).made };
      return isPending(one) && !(one instanceof ChainResult) ? { made: await one } : { made: one };
    }),
  ).then((all) => all.map((one) => (one as { made: unknown }).made));
}

function chain(name: OperatorName, given: readonly unknown[]): ChainResult {
  const operator: Operator = OPERATORS[name];
  const values = given.map((one, at) => checked(one, name, at));
  const tensors = values.filter((one) => typeof one !== 'number');
  const [first] = tensors;
  if (first === undefined) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${name}: ${given.map(describeValue).join(' and ')} are no tensors. Pass a tensor for one of them, or use JavaScript's own arithmetic.`,
    );
  }
  for (const { device, label } of tensors) {
    if (device === first.device) continue;
    throw new MercerError(
      'DEVICE_MISMATCH',
      `${name}: ${first.label} and ${label} are on different devices. Move one with to('${first.device.id}').`,
    );
  }
  const shape = broadcast(name, tensors);
  const { conditions = 0, rule, arithmetic } = operator;
  const dtypes = values.map(dtypeOf);
  const { dtype, computesIn } = resultDType(rule, dtypes.slice(conditions), arithmetic);
  const parts = new Parts(computesIn);
  const operands = values.map((one, at) => parts.operand(one, isExponent(name, at)));
  const { before, reads, operations } = parts;
  return new ChainResult({
    operator: name,
    operands,
    before,
    reads: [...reads],
    operations: operations + 1,
    shape,
    dtype,
    computesIn,
    device: first.device,
  });
}

/** Collects what a chain is made of. */
class Parts {
  readonly before: Unlaunched[] = [];
  readonly reads = new Set<LaterRead>();
  operations = 0;
  readonly #computesIn: 'float32' | 'float64';

  constructor(computesIn: 'float32' | 'float64') {
    this.#computesIn = computesIn;
  }

  operand(one: Present, isExponent: boolean): ChainOperand {
    if (typeof one === 'number') return isExponent ? exponent(one) : one;
    if (isTensor(one)) {
      const read = LaterRead.of(one);
      this.reads.add(read);
      return read;
    }
    if (!one.started) one.hold();
    if (this.#joins(one)) {
      for (const read of one.reads) this.reads.add(read);
      this.operations += one.operations;
      this.before.push(...one.before);
    } else {
      this.before.push(one);
    }
    return one;
  }

  /** Whether it can be computed in the same kernel, with the same bits. */
  #joins(one: ChainResult): boolean {
    if (one.started || one.computesIn !== this.#computesIn) return false;
    if (this.operations + one.operations >= MOST_OPERATIONS) return false;
    const reads = new Set([...this.reads, ...one.reads]);
    return reads.size + this.before.length + one.before.length <= MAX_MAP_INPUTS;
  }
}

/** Exponents for which powers are products. */
const LARGEST_LITERAL = 8;

const isExponent = (name: OperatorName, at: number): boolean => name === 'pow' && at === 1;

const exponent = (value: number): ChainOperand =>
  Number.isInteger(value) && Math.abs(value) <= LARGEST_LITERAL ? { literal: value } : value;

function dtypeOf(value: Present): OperandDType {
  if (typeof value !== 'number') return value.dtype;
  return Number.isInteger(value) ? 'whole number' : 'number';
}

function checked(operand: unknown, name: OperatorName, at: number): Present {
  if (typeof operand === 'number') return operand;
  if (operand instanceof ChainResult) {
    if (!operand.disposed) return operand;
    throw new MercerError(
      'DISPOSED',
      `${name}: ${operand.label} was disposed. Use it before that.`,
    );
  }
  if (typeof operand === 'boolean') return Number(operand);
  assertTensor(operand, `${name}: ${at === 0 ? 'the first operand' : `operand ${at + 1}`}`);
  return operand;
}

function broadcast(
  name: OperatorName,
  operands: readonly Exclude<Present, number>[],
): readonly number[] {
  const [first, ...others] = operands;
  if (first !== undefined && others.every(({ shape }) => sameShape(shape, first.shape))) {
    return first.shape;
  }
  try {
    return broadcastShapes(...operands.map(({ shape }) => shape));
  } catch (cause) {
    const shapes = operands.map(({ shape }) => formatShape(shape)).join(' and ');
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${name}: shapes ${shapes} do not broadcast. Counted from the last axis, extents must be equal or 1.`,
      { cause },
    );
  }
}

const sameShape = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((extent, axis) => extent === b[axis]);
