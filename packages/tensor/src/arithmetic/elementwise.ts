import { isDType, type DType } from '@mercer/kernels';
import { describeValue, own, type OptionNames } from '@mercer/options';
import { formatShape } from '../checked-size.js';
import { atPlace, Turn } from '../call-order.js';
import { LOAD_OPTIONS, type LoadOptions } from '../device.js';
import { MercerError } from '../mercer-error.js';
import { hasPlace, isPending, pendingAfter } from '../pending.js';
import { thereOf } from '../there.js';
import { readOptions } from '../read-options.js';
import { assertTensor, isTensor, OUT_OPTION, type OutOption, type Tensor } from '../tensor.js';
import { byElements } from '../trace/batching.js';
import { recorded, recordedSingle } from '../trace/dispatch.js';
import type { Primitive } from '../trace/primitive.js';
import { isTracedKnown, Traced, TracedResult } from '../trace/traced.js';
import { handleOf, isTraced, promisesTraced } from '../trace/traced-value.js';
import { Unlaunched, type LaunchOptions } from '../unlaunched.js';
import { broadcastShapes } from '../views.js';
import type { Chain, ChainOperand } from './chain.js';
import { ChainResult } from './chain-result.js';
import {
  commonDType,
  isInteger,
  resultDType,
  type OperandDType,
  type ResultDType,
} from './dtype-rules.js';
import { ELEMENTWISE_RULES } from './elementwise-rules.js';
import { startChain } from './launch-chain.js';
import { LaterRead, ReadHold, type LaterReader } from './later-read.js';
import { OPERATORS, type Operator, type OperatorName } from './operators.js';

/** Options of an elementwise operation: with any of them it is launched at once. */
export interface ElementwiseOptions extends OutOption, LoadOptions {}

const ELEMENTWISE_OPTIONS: OptionNames<ElementwiseOptions> = { ...OUT_OPTION, ...LOAD_OPTIONS };

/** Operations of one kernel at most: longer texts take longer to compile than a second kernel costs. */
const MOST_OPERATIONS = 128;
/** Tensors that one kernel reads at most. */
const MOST_INPUTS = 16;

/** One of whole numbers is as long as several: they are put within their ends behind it. */
const operationsOf = (dtype: DType): number => (dtype !== 'bool' && isInteger(dtype) ? 3 : 1);

/** What an operation is part of. */
export interface Use {
  /** For messages. */
  readonly what: string;
  /** What messages call the operands. */
  readonly operands: readonly string[];
  /** Where the operands do not say what it computes in and gives. */
  readonly gives?: ResultDType;
}

const OPERANDS = ['the first operand', 'operand 2', 'operand 3'] as const;

/** An operation of its own. */
export const alone = (what: OperatorName): Use => ALONE[what];

const ALONE = Object.fromEntries(
  Object.keys(OPERATORS).map((what): [string, Use] => [what, { what, operands: OPERANDS }]),
) as Readonly<Record<OperatorName, Use>>;

/** A result whose operands are not all there: it is made of them when it is launched. */
class WaitingResult extends Unlaunched implements LaterReader {
  readonly label: string;
  readonly hasPlace: boolean;
  /** What it is made of may be given it by a later call. */
  readonly waits = true;
  readonly #make: () => Promise<Made>;
  /** Once, for all that use it. */
  #making: Promise<Made> | undefined;
  readonly #operands: unknown[];
  /** The tensors among the operands. */
  readonly #held: ReadHold;
  /** Operands of which nothing is known yet, and handles of its own of others: callers may dispose theirs. */
  #kept: WaitingResult[] = [];
  #own: ChainResult[] = [];

  constructor(name: OperatorName, operands: readonly unknown[], use: Use) {
    super();
    this.label = `${use.what} (not computed yet)`;
    this.hasPlace = operands.every(hasPlace);
    const all = operands.map((one) => this.#handleOf(one));
    this.#held = new ReadHold(all.filter((one) => one instanceof LaterRead));
    this.#held.acquire(this);
    this.#operands = all;
    for (const [at, one] of operands.entries()) {
      if (one instanceof Unlaunched) one.whenThere((tensor) => this.#keep(at, tensor));
      else if (isPending(one))
        one.then(
          (tensor) => this.#keep(at, tensor),
          () => undefined,
        );
    }
    this.#make = async () => {
      const found = await there(this.#operands);
      // as they were when they came
      const operands = this.#operands.map((one, at) =>
        one instanceof LaterRead || one instanceof Traced ? one : found[at],
      );
      return { made: atPlace(this.place, () => applied(name, operands, use)) };
    };
  }

  get canLaunch(): boolean {
    return this.hasPlace;
  }

  /** What it reads of an operand that its caller may dispose. */
  #handleOf(operand: unknown): unknown {
    if (isTensor(operand)) return LaterRead.of(operand);
    if (operand instanceof TracedResult && !operand.disposed) return operand.twin();
    if (operand instanceof WaitingResult) {
      operand.keep();
      this.#kept.push(operand);
    }
    if (!(operand instanceof ChainResult) || operand.disposed || operand.started)
      return handleOf(operand);
    const own = operand.twin() as ChainResult;
    this.#own.push(own);
    return own;
  }

  /** An operand that has come, as it is now. */
  #keep(at: number, tensor: unknown): void {
    if (tensor instanceof Traced) this.#operands[at] = handleOf(tensor);
    if (!isTensor(tensor) || tensor.disposed || this.tensor !== undefined) return;
    const read = atPlace(this.place, () => LaterRead.of(tensor));
    this.#operands[at] = read;
    this.#held.add(read);
  }

  get joined(): readonly LaterReader[] {
    return this.#operands.flatMap((one) =>
      one instanceof WaitingResult || one instanceof ChainResult ? [one] : [],
    );
  }

  async enqueued(): Promise<unknown> {
    return this.launch();
  }

  /** The operation on its operands, which may go on as part of a chain. */
  override async made(): Promise<Made> {
    return this.tensor === undefined && !this.started
      ? (this.#making ??= this.#make())
      : { made: await this.launch() };
  }

  protected override async start(options: LaunchOptions): Promise<Tensor> {
    try {
      const { made } = await (this.#making ?? this.#make());
      return await (isTensor(made) ? made : made.launch(options));
    } finally {
      this.spend();
    }
  }

  /** With it, what was computed in the same kernel has been launched. */
  spend(): void {
    const spent = new Set<WaitingResult>([this]);
    for (const node of spent) {
      node.#release();
      for (const one of node.#operands)
        if (one instanceof WaitingResult && !one.started) spent.add(one);
    }
  }

  #release(): void {
    this.#held.release();
    const [kept, own] = [this.#kept, this.#own];
    this.#kept = [];
    this.#own = [];
    for (const one of kept) one.letGo();
    for (const one of own) one.dispose();
  }

  protected override abandon(): void {
    this.#release();
  }
}

/** A result of which shape and dtype are known. */
type Known = ChainResult | TracedResult;

/** In an object, so that a promise of it launches nothing. */
interface Made {
  readonly made: Known | Tensor;
}

/** The operations as traces record them. */
const primitives = new Map<OperatorName, Primitive>();

/** Of a call with traced operands. */
function tracedCall(
  name: OperatorName,
  operands: readonly unknown[],
  options?: unknown,
): Known | Promise<Tensor> | undefined {
  if (!operands.some(isTraced)) return undefined;
  let primitive = primitives.get(name);
  if (primitive === undefined) {
    const { arity }: Operator = OPERATORS[name];
    primitive = {
      name,
      call: (...given: readonly unknown[]) =>
        elementwise(name, given.slice(0, arity), given[arity]),
      untraced: (...given: readonly unknown[]) =>
        given.length === arity
          ? chain(name, given.map(presentOperand), alone(name))
          : elementwise(name, given.slice(0, arity), given[arity]),
      derivative: ELEMENTWISE_RULES[name],
      batch: byElements,
    };
    primitives.set(name, primitive);
  }
  // without options they are there
  return (
    options === undefined
      ? recordedSingle(primitive, operands)
      : recorded(primitive, [...operands, options])
  ) as Known | Promise<Tensor>;
}

/** The operation on operands that are known. */
function applied(name: OperatorName, operands: readonly unknown[], use: Use): Known {
  if (!operands.some(isTraced)) return chain(name, operands, use);
  const bound = operands.map((one) => (one instanceof LaterRead ? one.bound() : one));
  try {
    return tracedCall(name, bound) as TracedResult;
  } finally {
    // the trace has handles of its own
    for (const [at, one] of operands.entries()) {
      const other = bound[at];
      if (one instanceof LaterRead && isTensor(other) && other !== one.tensor) other.dispose();
    }
  }
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
  use = alone(name),
): Known | WaitingResult | Promise<Tensor> {
  const { arity }: Operator = OPERATORS[name];
  const given = operands.length === arity ? operands : operands.slice(0, arity);
  if (given.length < arity || given.includes(undefined)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${use.what}: an operand is missing. Pass ${arity}: tensors, or numbers beside a tensor.`,
    );
  }
  if (options !== undefined) {
    const traced = tracedCall(name, given, options);
    if (traced !== undefined) return traced;
  }
  const result = combined(name, given, use);
  if (options === undefined) return result;
  const launched = launchNow(use.what, result as ChainResult | WaitingResult, options);
  return pendingAfter([result], launched);
}

async function launchNow(
  what: string,
  result: ChainResult | WaitingResult,
  given: unknown,
): Promise<Tensor> {
  let writing: Turn | undefined;
  try {
    const options = readOptions(what, given as ElementwiseOptions, ELEMENTWISE_OPTIONS);
    const { out } = options;
    if (out !== undefined) {
      assertTensor(out, `${what}: out`);
      if (result instanceof ChainResult && !out.disposed) {
        const started = startChain(result, options);
        if (started !== undefined) return await started;
      }
      if (result.hasPlace) writing = new Turn([], [out.storage]);
    }
    const { made } = result instanceof WaitingResult ? await result.made() : { made: result };
    if (!(made instanceof ChainResult)) return await made;
    if (out !== undefined) writing ??= new Turn([], [out.storage]);
    return await made.launchInto(out, options, writing);
  } finally {
    writing?.end();
    // what was held for it, where it was refused
    result.spend();
  }
}

function combined(name: OperatorName, given: readonly unknown[], use: Use): Known | WaitingResult {
  for (const one of given) {
    if (!(one instanceof WaitingResult) || !one.disposed) continue;
    throw new MercerError(
      'DISPOSED',
      `${use.what}: ${one.label} was disposed. Use it before that.`,
    );
  }
  const operands = given.map(presentOperand);
  if (operands.every((one) => one !== undefined)) {
    try {
      return applied(name, operands, use);
    } catch (error) {
      // of a promise nothing was known at the call that could be refused there: its result is rejected
      if (!given.some(thereOf)) throw error;
    }
  }
  const result = new WaitingResult(name, given, use);
  return given.some(isTraced) ? promisesTraced(result) : result;
}

/** An operand of which shape and dtype are known. */
type Present = Tensor | LaterRead | ChainResult | number;

/** Undefined for a pending operand of which nothing is known yet. */
export function presentOperand(operand: unknown): unknown {
  if (operand instanceof ChainResult || operand instanceof WaitingResult) {
    if (operand.tensor !== undefined) return operand.tensor;
    return operand instanceof ChainResult ? operand : undefined;
  }
  if (isTracedKnown(operand)) return operand;
  return isPending(operand) ? thereOf(operand) : operand;
}

/** An operand once shape and dtype are known, in an object, so that nothing is launched. */
export async function waitingOperand(operand: unknown): Promise<{ readonly made: unknown }> {
  if (operand instanceof Unlaunched) return operand.made();
  return { made: isPending(operand) ? (thereOf(operand) ?? (await operand)) : operand };
}

const there = async (given: readonly unknown[]): Promise<readonly unknown[]> =>
  (await Promise.all(given.map(waitingOperand))).map(({ made }) => made);

/** What an operator says of dtypes, read once. */
const DTYPE_RULES = Object.fromEntries(
  Object.entries<Operator>(OPERATORS).map(([name, operator]) => [
    name,
    own(operator, 'conditions', 'rule', 'arithmetic'),
  ]),
) as Readonly<Record<OperatorName, Pick<Operator, 'conditions' | 'rule' | 'arithmetic'>>>;

function chain(name: OperatorName, given: readonly unknown[], use: Use): ChainResult {
  const { what } = use;
  const operator = DTYPE_RULES[name];
  const values = given.map((one, at) => checked(one, use, at));
  const tensors = values
    .filter((one) => typeof one !== 'number')
    .map((one) => (one instanceof LaterRead ? one.tensor : one));
  const [first] = tensors;
  if (first === undefined) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: ${given.map(describeValue).join(' and ')} are no tensors. Pass a tensor for one of them, or use JavaScript's own arithmetic.`,
    );
  }
  for (const one of tensors) {
    if (one.device === first.device) continue;
    throw new MercerError(
      'DEVICE_MISMATCH',
      `${what}: ${first.label} and ${one.label} are on different devices. Move one with to('${first.device.id}').`,
    );
  }
  const shape = broadcast(what, tensors);
  const { conditions = 0, rule, arithmetic } = operator;
  const dtypes = values.map(dtypeOf);
  const { dtype, computesIn } =
    own(use, 'gives').gives ?? resultDType(rule, dtypes.slice(conditions), arithmetic);
  return chainOf(name, what, values, { shape, dtype, computesIn, device: first.device });
}

function chainOf(
  operator: Chain['operator'],
  what: string,
  values: readonly Present[],
  { shape, dtype, computesIn, device }: Pick<Chain, 'shape' | 'dtype' | 'computesIn' | 'device'>,
): ChainResult {
  const parts = new Parts(what, computesIn, operationsOf(dtype));
  const operands = parts.operands(values, (at) => isExponent(operator, at));
  const { before, reads, operations } = parts;
  return new ChainResult({
    operator,
    what,
    operands,
    before,
    reads,
    operations,
    shape,
    dtype,
    computesIn,
    device,
  });
}

/**
 * A result that is not computed yet as another dtype, as one more operation of its chain; undefined where a kernel would not convert it as
 * a cast of what is stored does: to float64 from what is computed in float32, and from whole numbers to fewer.
 */
function castChain(x: ChainResult, dtype: DType): ChainResult | undefined {
  const { dtype: from, chain } = x;
  const { computesIn, shape, device } = chain;
  if (x.disposed || !x.joins(computesIn) || (dtype === 'float64' && computesIn === 'float32'))
    return undefined;
  if (
    isInteger(from) &&
    isInteger(dtype) &&
    dtype !== 'bool' &&
    commonDType([from, dtype]) !== dtype
  )
    return undefined;
  return chainOf('cast', 'cast', [x], { shape, dtype, computesIn, device });
}

const castTensor = Reflect.get(ChainResult.prototype, 'cast') as (
  ...given: readonly unknown[]
) => unknown;

Object.defineProperty(ChainResult.prototype, 'cast', {
  value(this: ChainResult, dtype: unknown, ...options: readonly unknown[]): unknown {
    const isPlain = isDType(dtype) && options.every((one) => one === undefined);
    return (
      (isPlain ? castChain(this, dtype) : undefined) ?? castTensor.call(this, dtype, ...options)
    );
  },
  configurable: true,
  writable: true,
});

/** Collects what a chain is made of. */
class Parts {
  /** Each once, as in `reads`: so few that a list is searched faster than a set is made. */
  readonly before: Unlaunched[] = [];
  readonly reads: LaterRead[] = [];
  /** Begins with the operation itself. */
  operations: number;
  readonly #itself: number;
  readonly #taken: ChainResult[] = [];
  readonly #what: string;
  readonly #computesIn: Chain['computesIn'];

  constructor(what: string, computesIn: Chain['computesIn'], operations: number) {
    this.#what = what;
    this.#computesIn = computesIn;
    this.operations = this.#itself = operations;
  }

  /** Tensors come first: each takes a place among the inputs, as does each result that does not join. */
  operands(
    values: readonly Present[],
    isExponent: (at: number) => boolean,
  ): readonly ChainOperand[] {
    const reads = values.map((one) => (isTensor(one) ? LaterRead.of(one) : one));
    for (const one of reads) {
      if (!(one instanceof LaterRead)) continue;
      one.assertReadable({ label: this.#what });
      addNew(this.reads, one);
    }
    let others = values.filter((one) => one instanceof ChainResult).length;
    return reads.map((one, at): ChainOperand => {
      if (typeof one === 'number') return isExponent(at) ? exponent(one) : one;
      return one instanceof LaterRead ? one : this.#result(one, --others);
    });
  }

  #result(one: ChainResult, others: number): ChainResult {
    if (!one.started) one.hold();
    const operations = this.#operationsWith(one);
    if (operations <= MOST_OPERATIONS && this.#takes(one, others)) {
      for (const read of one.chain.reads) addNew(this.reads, read);
      for (const earlier of one.chain.before) addNew(this.before, earlier);
      this.operations = operations;
      this.#taken.push(one);
    } else {
      addNew(this.before, one);
    }
    return one;
  }

  /** Whether it can be computed in the same kernel. */
  #takes(one: ChainResult, others: number): boolean {
    if (!one.joins(this.#computesIn)) return false;
    const { reads, before } = one.chain;
    const inputs = countOfBoth(this.reads, reads) + countOfBoth(this.before, before);
    return inputs + others <= MOST_INPUTS;
  }

  /** The operations of the kernel with one more operand: what occurs twice stands there once, and is looked for where the sum is too much. */
  #operationsWith(one: ChainResult): number {
    const sum = this.operations + one.chain.operations;
    if (sum <= MOST_OPERATIONS) return sum;
    const seen = new Set<ChainResult>([...this.#taken, one]);
    let operations = this.#itself;
    for (const node of seen) {
      operations += operationsOf(node.dtype);
      for (const inner of node.joined) seen.add(inner);
    }
    return operations;
  }
}

function addNew<T>(to: T[], one: T): void {
  if (!to.includes(one)) to.push(one);
}

/** How many there are in two lists, each of which has each once. */
function countOfBoth<T>(some: readonly T[], others: readonly T[]): number {
  let count = some.length;
  for (const one of others) if (!some.includes(one)) count++;
  return count;
}

/** Exponents for which powers are products. */
const LARGEST_LITERAL = 8;

const isExponent = (name: Chain['operator'], at: number): boolean => name === 'pow' && at === 1;

const exponent = (value: number): ChainOperand =>
  Number.isInteger(value) && Math.abs(value) <= LARGEST_LITERAL ? { literal: value } : value;

function dtypeOf(value: Present): OperandDType {
  if (typeof value !== 'number') return (value instanceof LaterRead ? value.tensor : value).dtype;
  return Number.isInteger(value) ? 'whole number' : 'number';
}

function checked(operand: unknown, { what, operands }: Use, at: number): Present {
  if (typeof operand === 'number' || operand instanceof LaterRead) return operand;
  if (operand instanceof ChainResult) {
    if (!operand.disposed) return operand;
    throw new MercerError(
      'DISPOSED',
      `${what}: ${operand.label} was disposed. Use it before that.`,
    );
  }
  if (typeof operand === 'boolean') return Number(operand);
  assertTensor(operand, `${what}: ${operands[at]}`);
  return operand;
}

function broadcast(what: string, operands: readonly (Tensor | ChainResult)[]): readonly number[] {
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
      `${what}: shapes ${shapes} do not broadcast. Counted from the last axis, extents must be equal or 1.`,
      { cause },
    );
  }
}

const sameShape = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((extent, axis) => extent === b[axis]);
