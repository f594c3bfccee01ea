import { mul, variable } from '@mercer/formula';
import { describeValue, own, type OptionNames } from '@mercer/options';
import {
  eye,
  MercerError,
  rowMajorStrides,
  type LoadOptions,
  type Pending,
  type Tensor,
  type TensorOperand,
  type WorkOptions,
} from '@mercer/tensor';
import {
  addSumTo,
  assertTensor,
  CallSteps,
  checkOut,
  commonDevice,
  differentiable,
  exampleShape,
  formatShape,
  keyPart,
  LOAD_OPTIONS,
  Operation,
  operationFunction,
  OUT_OPTION,
  pendingCall,
  pendingOf,
  WORK_OPTIONS,
  type AnyCall,
  type BatchRule,
  type CallView,
  type DerivativeRule,
  type KnownValue,
  type Value,
} from '@mercer/tensor/operation';
import { floating, MOST_BATCH_AXES, type LinalgDType, type Setting } from './checks.js';
import { elementwise, flattened, product, rowMajor, scratch } from './compose.js';
import { floats } from './derivative-parts.js';
import { cotangentSum, fullShape } from './einsum-derivative.js';
import { nextPair, parseSubscripts, type Label, type Subscripts } from './einsum-subscripts.js';
import type { PreparedRoutine } from './options.js';
import { precisionOf, type ProductPrecision } from './precision.js';
import type { Composed } from './run-routine.js';

/** Options of {@link einsum}. */
export interface EinsumOptions<D extends LinalgDType = LinalgDType>
  extends WorkOptions, LoadOptions {
  readonly out?: Tensor<D> | undefined;
  /** How float32 products are computed on a GPU, as in `matmul`; default 'float32'. */
  readonly precision?: ProductPrecision | undefined;
}

const EINSUM_OPTIONS: OptionNames<EinsumOptions> = {
  ...WORK_OPTIONS,
  ...LOAD_OPTIONS,
  out: true,
  precision: true,
};

type Arguments = readonly [subscripts: string, operands: readonly Tensor[]];

const operation = new Operation<Arguments, EinsumOptions>({
  what: 'einsum',
  options: EINSUM_OPTIONS,
  freeOptions: OUT_OPTION,
  snapshot: ([subscripts, operands], options) => [[subscripts, listOf(operands)], options],
  identify: ([subscripts, operands], { out, precision }) => {
    const part = keyPart(precision);
    if (typeof subscripts !== 'string' || part === undefined) return undefined;
    return { key: `${part} ${subscripts}`, tensors: { inputs: operands, outs: [out] } };
  },
  plan: ([subscripts, operands], { out, precision }) => {
    const setting = settingOf(operands, subscripts);
    const { terms, output, extents } = parseSubscripts(subscripts, operands);
    const { device, dtype } = setting;
    const tensors = { inputs: operands, outs: [out] };
    const steps = new CallSteps(device, tensors);
    const shape = output.map((label) => extents.get(label) ?? 1);
    if (out !== undefined) checkOut(out, { shape, dtype, device }, operands, 'einsum');
    const to = steps.result({ shape, dtype });
    const call = { steps, setting };
    const views = operands.map((_, at) => withoutRepeats(steps.input(at), terms[at] ?? []));
    const contraction = new Contraction(
      call,
      { terms, output, extents },
      precisionOf(setting, precision),
    );
    steps.copy(contraction.result(views), to);
    return { tensors, steps };
  },
});

/** Of an operand it is `einsum` of the cotangent and the others: see `cotangentSum`. */
const derivative: DerivativeRule<
  readonly [subscripts: string, operands: readonly KnownValue[], options?: EinsumOptions]
> = {
  vjp: (g, { args: [subscripts, operands, options = {}] }) => {
    const parsed = parseSubscripts(subscripts, operands as readonly Tensor[]);
    const how = own(options, 'precision') as EinsumOptions<'float64'>;
    const share = async ({ shape, dtype, device }: KnownValue, at: number): Promise<Tensor> => {
      const sum = cotangentSum(parsed, shape, at);
      const wholes = operands.map((one, k) => broadcast(one, fullShape(parsed, k)));
      const identities = sum.identities.map((n) => eye(n, { dtype, device }));
      const factors = [g, ...wholes.toSpliced(at, 1), ...identities];
      const result = await einsum(sum.subscripts, factors.map(floats), how);
      return broadcast(result.reshape(sum.shape), shape);
    };
    return [undefined, operands.map((one, at) => () => pendingOf(() => share(one, at)))];
  },
};

/** A letter more for the mapped axis, in front of those of the result and of what is mapped. */
const batch: BatchRule<
  readonly [subscripts: string, operands: readonly KnownValue[], options?: EinsumOptions]
> = ({ args: [subscripts, operands, options], mapped: [, mapped], call }) => {
  const are = mapped as readonly unknown[];
  const examples = operands.map((one, at) => {
    const shape = exampleShape(one, are[at]);
    return { shape, rank: shape.length, label: formatShape(shape) };
  });
  const { output } = parseSubscripts(subscripts, examples as unknown as readonly Tensor[]);
  const text = subscripts.replaceAll(/\s/g, '');
  const [inputs = '', given] = text.split('->');
  const letter = LETTERS.find((one) => !text.includes(one));
  if (letter === undefined) return undefined;
  const rest = output.filter((label) => label.length === 1).join('');
  const result = given ?? (inputs.includes('...') ? `...${rest}` : rest);
  const terms = inputs.split(',').map((term, at) => (are[at] === true ? letter + term : term));
  return (call as AnyCall)(`${terms.join()}->${letter}${result}`, operands, options);
};

const LETTERS = Array.from('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ');

const broadcast = (x: KnownValue, shape: readonly number[]): Value =>
  x.shape.every((extent, axis) => extent === shape[axis]) ? x : x.broadcastTo(shape);

/** How {@link einsum} is called. */
export interface Einsum {
  <D extends LinalgDType>(
    subscripts: string,
    operands: readonly TensorOperand<D>[],
    options?: EinsumOptions<D>,
  ): Pending<Tensor<D>>;
  /**
   * Loads what such a call needs, and gives a synchronous function. Later operands may have other extents where the same pairs come
   * first and the same kernels are launched.
   */
  readonly prepare: <D extends LinalgDType>(
    subscripts: string,
    operands: readonly Tensor<D>[],
    options?: EinsumOptions<D>,
  ) => Promise<PreparedRoutine<[operands: readonly Tensor<D>[]], Tensor<D>, Tensor<D>>>;
}

interface Whole {
  (subscripts: string, operands: readonly unknown[], options?: EinsumOptions): Pending<Tensor>;
  prepare(
    ...given: Parameters<Einsum['prepare']>
  ): Promise<(subscripts: string, operands: readonly Tensor[], options?: object) => Tensor>;
}
const whole: Whole = operationFunction(operation, 2);

/**
 * Einstein's summation: a product of tensors whose axes have letters. `'ij,jk->ik'` is the matrix product, `'ii->i'` the diagonal, `'ij->'` the sum of
 * all elements, `'bij,bjk->bik'` a batch of products. Axes whose letter is not in the result are summed over. `...` stands for all other
 * axes, which broadcast. Without `->` the result has those of `...` and then, in alphabetical order, the letters that come once.
 *
 * Two tensors at a time are multiplied: by `matmul` where letters of both are summed over, else element by element. Of three or more the
 * pair comes first whose product is smallest beside what it replaces. Errors are those of `matmul` and `sum`.
 *
 * Resolves when the work is enqueued.
 *
 * @param subscripts letters of each operand, separated by commas, and of the result; spaces mean nothing
 * @param operands float32 or float64, all the same, any strides; pending ones are waited for
 * @returns a new row-major tensor
 * @throws MercerError INVALID_ARGUMENT (subscripts), SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, DISPOSED, OUT_OF_MEMORY
 *
 * @example
 * ```ts
 * import { einsum } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const a = await tensor([[1, 2], [3, 4]], { device: 'cpu' });
 * console.log(await einsum('ij,jk->ik', [a, a]).toNested()); // [ [ 7, 10 ], [ 15, 22 ] ]
 * console.log(await einsum('ii', [a]).item()); // 5
 * ```
 */
export const einsum: Einsum = differentiable(
  'einsum',
  Object.assign(
    (subscripts: string, operands: readonly Tensor[], options?: EinsumOptions) =>
      pendingCall(() => whole(subscripts, listOf(operands), options)),
    {
      prepare: async (...given: Parameters<Einsum['prepare']>) => {
        const prepared = await whole.prepare(...given);
        return (operands: readonly Tensor[], options?: object) =>
          prepared(given[0], operands, options);
      },
    },
  ) as Einsum,
  derivative,
  batch,
  'one call',
);

function listOf<T>(operands: readonly T[]): readonly T[] {
  if (Array.isArray(operands)) return [...(operands as readonly T[])];
  throw new MercerError(
    'INVALID_ARGUMENT',
    `einsum: the operands are ${describeValue(operands)}. Pass an array of tensors, as einsum('ij,jk->ik', [a, b]).`,
  );
}

/** What the operands have in common. @throws MercerError INVALID_ARGUMENT, DTYPE_MISMATCH, DEVICE_MISMATCH, DISPOSED */
function settingOf(tensors: readonly Tensor[], subscripts: string): Setting {
  const what = 'einsum';
  const dtypes = tensors.map((one, at) => {
    const name = `operand ${at + 1}`;
    assertTensor(one, `${what}: ${name}`);
    const dtype = floating(what, name, one);
    const [first] = tensors;
    if (first?.dtype === dtype) return dtype;
    throw new MercerError(
      'DTYPE_MISMATCH',
      `${what}: ${name} is ${one.label}, but operand 1 is ${first?.dtype}. Cast one of them.`,
    );
  });
  // which says that there are too few
  if (tensors.length === 0) parseSubscripts(subscripts, tensors);
  return {
    what,
    device: commonDevice(tensors, what),
    dtype: dtypes[0] ?? 'float32',
    batchShape: [],
  };
}

/** A view whose axes have letters, each once. */
interface Term {
  readonly view: CallView;
  readonly labels: readonly Label[];
}

const PRODUCT = mul(variable('x'), variable('y'));

/** Axes of the same letter as one: the diagonal. */
function withoutRepeats(view: CallView, axes: readonly Label[]): Term {
  const labels = [...new Set(axes)];
  const strides = labels.map((label) =>
    axes.reduce((sum, one, axis) => sum + (one === label ? (view.strides[axis] ?? 0) : 0), 0),
  );
  const shape = labels.map((label) => view.shape[axes.indexOf(label)] ?? 1);
  return { labels, view: { ...view, shape, strides } };
}

/** Writes down the work of one call. */
class Contraction {
  readonly #call: Composed;
  readonly #subscripts: Subscripts;
  readonly #precision: ProductPrecision;

  constructor(call: Composed, subscripts: Subscripts, precision: ProductPrecision) {
    this.#call = call;
    this.#subscripts = subscripts;
    this.#precision = precision;
  }

  /** A view with the axes of the result. */
  result(terms: readonly Term[]): CallView {
    const { output, extents } = this.#subscripts;
    let left = terms;
    while (left.length > 1) {
      const [a, b] = nextPair(
        left.map(({ labels }) => labels),
        output,
        extents,
      );
      const rest = left.filter((_, at) => at !== a && at !== b);
      const kept = new Set([...output, ...rest.flatMap(({ labels }) => labels)]);
      const [first, second] = [left[a], left[b]];
      if (first === undefined || second === undefined) break;
      left = [...rest, this.#product(first, second, kept)];
    }
    const [last] = left;
    if (last === undefined) throw new Error('there is an operand');
    const { view, labels } = this.#summed(last, new Set(output));
    return permuted(
      view,
      output.map((label) => labels.indexOf(label)),
    );
  }

  /** Summed over the letters that nobody needs any more. */
  #summed({ view, labels }: Term, kept: ReadonlySet<Label>): Term {
    const axes = [...labels.keys()];
    const stays = (axis: number): boolean => kept.has(labels[axis] as Label);
    const [staying, going] = [axes.filter(stays), axes.filter((axis) => !stays(axis))];
    if (going.length === 0) return { view, labels };
    const from = rowMajor(this.#call, permuted(view, [...going, ...staying]));
    const to = scratch(this.#call, from.shape.slice(going.length));
    addSumTo(this.#call.steps, from, to.shape, to);
    return { view: to, labels: staying.map((axis) => labels[axis] as Label) };
  }

  #product(one: Term, other: Term, kept: ReadonlySet<Label>): Term {
    const needed = (beside: Term): Set<Label> => new Set([...kept, ...beside.labels]);
    const terms = [this.#summed(one, needed(other)), this.#summed(other, needed(one))] as const;
    const extents = extentsOfPair(terms);
    const [a, b] = [spread(terms[0], extents), spread(terms[1], extents)];
    const isShared = (label: Label): boolean => b.labels.includes(label);
    const batch = a.labels.filter((label) => isShared(label) && kept.has(label));
    const inner = a.labels.filter((label) => isShared(label) && !kept.has(label));
    const rows = a.labels.filter((label) => !isShared(label));
    const columns = b.labels.filter((label) => !a.labels.includes(label));
    const labels = [...batch, ...rows, ...columns];
    const left = this.#arranged(a, [batch, rows, inner]);
    const right = this.#arranged(b, [batch, inner, columns]);
    const view =
      inner.length > 0
        ? product(this.#call, left, right, { precision: this.#precision })
        : elementwise(this.#call, PRODUCT, { x: left, y: right });
    const shape = labels.map((label) => extents.get(label) ?? 1);
    return { labels, view: { ...view, shape, strides: rowMajorStrides(shape) } };
  }

  /** The axes in the order of these groups: the first group as it is, and one axis for each of the two others. */
  #arranged(
    { view, labels }: Term,
    [batch, ...both]: readonly [Label[], Label[], Label[]],
  ): CallView {
    const groups = [...batch, ...both.flat()];
    let arranged = permuted(
      view,
      groups.map((label) => labels.indexOf(label)),
    );
    // the last group first: axes are counted from the last
    for (const [place, group] of [...both.entries()].reverse()) {
      const behind = place === 0 ? 1 : 0;
      if (group.length === 0) arranged = withOne(arranged, arranged.shape.length - behind);
      for (let left = group.length; left > 1; left--) {
        arranged = flattened(this.#call, arranged, -2 - behind);
      }
    }
    while (arranged.shape.length > MOST_BATCH_AXES + 2) {
      arranged = flattened(this.#call, arranged, -arranged.shape.length);
    }
    return arranged;
  }
}

/** The extents of two terms together: an axis of `...` may be longer in an operand that comes later. */
function extentsOfPair(terms: readonly [Term, Term]): ReadonlyMap<Label, number> {
  const extents = new Map<Label, number>();
  for (const { view, labels } of terms) {
    for (const [axis, label] of labels.entries()) {
      if ((extents.get(label) ?? 1) === 1) extents.set(label, view.shape[axis] ?? 1);
    }
  }
  return extents;
}

/** A term with these extents: what has 1 along an axis of `...` is repeated there. */
function spread({ view, labels }: Term, extents: ReadonlyMap<Label, number>): Term {
  const shape = labels.map((label) => extents.get(label) ?? 1);
  const strides = view.strides.map((stride, axis) =>
    view.shape[axis] === shape[axis] ? stride : 0,
  );
  return { labels, view: { ...view, shape, strides } };
}

function permuted(view: CallView, axes: readonly number[]): CallView {
  const { shape, strides } = view;
  return {
    ...view,
    shape: axes.map((axis) => shape[axis] ?? 1),
    strides: axes.map((axis) => strides[axis] ?? 1),
  };
}

/** One more axis of one element. */
function withOne(view: CallView, at: number): CallView {
  return {
    ...view,
    shape: view.shape.toSpliced(at, 0, 1),
    strides: view.strides.toSpliced(at, 0, 1),
  };
}
