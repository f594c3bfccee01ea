import { describeValue, type OptionNames } from '@mercer/options';
import {
  MercerError,
  type Pending,
  type Tensor,
  type TensorOperand,
  type WorkOptions,
} from '@mercer/tensor';
import {
  arrived,
  assertTensor,
  commonDevice,
  pendingOf,
  readOptions,
  viewOf,
  WORK_OPTIONS,
} from '@mercer/tensor/operation';
import { floating, type LinalgDType } from './checks.js';
import { nextPair, parseSubscripts, type Label, type Subscripts } from './einsum-subscripts.js';
import { matmul } from './matmul.js';
import { workOf } from './options.js';
import type { ProductPrecision } from './precision.js';

/** Options of {@link einsum}. */
export interface EinsumOptions extends WorkOptions {
  /** How float32 products are computed on a GPU, as in `matmul`; default 'float32'. */
  readonly precision?: ProductPrecision | undefined;
}

const EINSUM_OPTIONS: OptionNames<EinsumOptions> = { ...WORK_OPTIONS, precision: true };

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
export function einsum<D extends LinalgDType>(
  subscripts: string,
  operands: readonly TensorOperand<D>[],
  options?: EinsumOptions,
): Pending<Tensor<D>> {
  return pendingOf(async (): Promise<Tensor<D>> => {
    const given = readOptions('einsum', options, EINSUM_OPTIONS);
    if (!Array.isArray(operands)) {
      throw new MercerError(
        'INVALID_ARGUMENT',
        `einsum: the operands are ${describeValue(operands)}. Pass an array of tensors, as einsum('ij,jk->ik', [a, b]).`,
      );
    }
    const tensors = (await arrived([...(operands as readonly unknown[]), given])).slice(
      0,
      -1,
    ) as Tensor<D>[];
    checkOperands(tensors);
    const parsed = parseSubscripts(subscripts, tensors);
    const work = new Contraction<D>(parsed, given);
    try {
      return await work.result(tensors);
    } finally {
      work.dispose();
    }
  });
}

function checkOperands(tensors: readonly Tensor[]): void {
  for (const [at, one] of tensors.entries()) {
    const name = `operand ${at + 1}`;
    assertTensor(one, `einsum: ${name}`);
    const dtype = floating('einsum', name, one);
    const [first] = tensors;
    if (first?.dtype === dtype) continue;
    throw new MercerError(
      'DTYPE_MISMATCH',
      `einsum: ${name} is ${one.label}, but operand 1 is ${first?.dtype}. Cast one of them.`,
    );
  }
  if (tensors.length > 0) commonDevice(tensors, 'einsum');
}

/** A tensor whose axes have letters, each once. */
interface Term<D extends LinalgDType> {
  readonly tensor: Tensor<D>;
  readonly labels: readonly Label[];
}

/** The work of one call, with what it makes on the way. */
class Contraction<D extends LinalgDType> {
  readonly #subscripts: Subscripts;
  readonly #options: EinsumOptions;
  readonly #made: Tensor[] = [];

  constructor(subscripts: Subscripts, options: EinsumOptions) {
    this.#subscripts = subscripts;
    this.#options = options;
  }

  async result(tensors: readonly Tensor<D>[]): Promise<Tensor<D>> {
    const { terms, output, extents } = this.#subscripts;
    let left = tensors.map((tensor, at) => this.#withoutRepeats(tensor, terms[at] ?? []));
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
      left = [...rest, await this.#product(first, second, kept)];
    }
    const [last] = left;
    if (last === undefined) throw new Error('there is an operand');
    const summed = await this.#summed(last, new Set(output));
    const axes = output.map((label) => summed.labels.indexOf(label));
    const view = this.#keep(summed.tensor.permute(axes));
    return view.clone(workOf(this.#options));
  }

  dispose(): void {
    for (const one of this.#made) one.dispose();
  }

  #keep<T extends Tensor>(tensor: T): T {
    this.#made.push(tensor);
    return tensor;
  }

  /** Axes of the same letter as one: the diagonal. */
  #withoutRepeats(tensor: Tensor<D>, axes: readonly Label[]): Term<D> {
    const labels = [...new Set(axes)];
    const strides = labels.map((label) =>
      axes.reduce((sum, one, axis) => sum + (one === label ? (tensor.strides[axis] ?? 0) : 0), 0),
    );
    const shape = labels.map((label) => tensor.shape[axes.indexOf(label)] ?? 1);
    return {
      labels,
      tensor: this.#keep(viewOf(tensor, { shape, strides, offset: tensor.offset }, tensor.dtype)),
    };
  }

  /** Summed over the letters that nobody needs any more. */
  async #summed({ tensor, labels }: Term<D>, kept: ReadonlySet<Label>): Promise<Term<D>> {
    const axes = labels.flatMap((label, axis) => (kept.has(label) ? [] : [axis]));
    if (axes.length === 0) return { tensor, labels };
    const sum: Tensor = await tensor.sum(axes, workOf(this.#options));
    return {
      tensor: this.#keep(sum as Tensor<D>),
      labels: labels.filter((label) => kept.has(label)),
    };
  }

  async #product(one: Term<D>, other: Term<D>, kept: ReadonlySet<Label>): Promise<Term<D>> {
    const needed = (beside: Term<D>): Set<Label> => new Set([...kept, ...beside.labels]);
    const a = await this.#summed(one, needed(other));
    const b = await this.#summed(other, needed(one));
    const isShared = (label: Label): boolean => b.labels.includes(label);
    const batch = a.labels.filter((label) => isShared(label) && kept.has(label));
    const inner = a.labels.filter((label) => isShared(label) && !kept.has(label));
    const rows = a.labels.filter((label) => !isShared(label));
    const columns = b.labels.filter((label) => !a.labels.includes(label));
    const labels = [...batch, ...rows, ...columns];
    const left = await this.#arranged(a, [batch, rows, inner]);
    const right = await this.#arranged(b, [batch, inner, columns]);
    const product = this.#keep(
      inner.length > 0
        ? await matmul(left, right, this.#options)
        : ((await left.mul(right, workOf(this.#options))) as Tensor<D>),
    );
    const extent = (label: Label): number => this.#subscripts.extents.get(label) ?? 1;
    return { labels, tensor: this.#keep(product.reshape(labels.map(extent))) };
  }

  /** The axes in the order of these groups: the first group as it is, and one axis for each of the two others. */
  async #arranged({ tensor, labels }: Term<D>, groups: readonly Label[][]): Promise<Tensor<D>> {
    const axes = groups.flat().map((label) => labels.indexOf(label));
    const turned = this.#keep(tensor.permute(axes));
    const [batch = [], ...both] = groups;
    const shape = turned.shape.slice(0, batch.length);
    let from = batch.length;
    for (const { length } of both) {
      shape.push(turned.shape.slice(from, from + length).reduce((a, b) => a * b, 1));
      from += length;
    }
    try {
      return this.#keep(turned.reshape(shape));
    } catch (error) {
      if (!(error instanceof MercerError && error.code === 'NOT_CONTIGUOUS')) throw error;
    }
    const dense = this.#keep(await turned.contiguous(workOf(this.#options)));
    return this.#keep(dense.reshape(shape));
  }
}
