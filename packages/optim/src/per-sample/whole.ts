import { isTree, leavesOf, replaced, type Leaf } from '@mercer/autodiff/transform';
import { empty, isTensor, MercerError, type Tensor } from '@mercer/tensor';
import {
  assertNoOverlap,
  flatArguments,
  formatShape,
  viewsOverlap,
  type Value,
} from '@mercer/tensor/operation';

/** What the chunks give, put together: of each parameter its gradients, or the squares of its norms. */
export class Whole {
  readonly #count: number;
  readonly #norms: boolean;
  readonly #isGiven: boolean;
  #all: readonly Tensor[];

  /** @param given where gradients are written, of the caller */
  constructor(count: number, norms: boolean, given: readonly Tensor[] | undefined) {
    this.#count = count;
    this.#norms = norms;
    this.#isGiven = given !== undefined;
    this.#all = given ?? [];
  }

  /** Makes room for the gradients of all chunks, where it is not given. */
  make(leaves: readonly Leaf[]): void {
    if (this.#isGiven) return;
    this.#all = leaves.map(({ value: { shape, dtype, device } }) =>
      empty([this.#count, ...shape], { dtype, device }),
    );
  }

  /** Views of where the gradients of a chunk belong; undefined where there is no room yet. */
  places(start: number, stop: number): readonly Tensor[] | undefined {
    return this.#norms || this.#all.length === 0
      ? undefined
      : this.#all.map((one) => one.slice([start, stop]));
  }

  async add(chunk: readonly Tensor[], start: number, stop: number): Promise<void> {
    if (this.#all.length === 0 && stop - start === this.#count) {
      this.#all = chunk;
      return;
    }
    try {
      if (this.#all.length === 0) {
        this.#all = chunk.map(({ shape: [, ...rest], dtype, device }) =>
          empty([this.#count, ...rest], { dtype, device }),
        );
      }
      for (const [at, one] of chunk.entries()) {
        using place = (this.#all[at] as Tensor).slice([start, stop]);
        await place.copyFrom(one);
      }
    } finally {
      for (const one of chunk) one.dispose();
    }
  }

  async result(params: unknown): Promise<unknown> {
    if (!this.#norms) return replaced(params, this.#all);
    const [first, ...others] = this.#all as readonly [Tensor, ...Tensor[]];
    const norms = await Promise.all(this.#all.map(async (one) => one.sqrt()));
    const sum = others.reduce<Value>((all, one) => all.add(one), first);
    const total = await sum.sqrt();
    this.dispose();
    return { norms: replaced(params, norms), total };
  }

  dispose(): void {
    if (this.#isGiven) return;
    for (const one of this.#all) one.dispose();
  }
}

/**
 * The tensors of a tree like the parameters in which gradients are written.
 *
 * @param read what is read meanwhile
 * @throws MercerError INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, DISPOSED, OVERLAP
 */
export async function targetsOf(
  what: string,
  out: unknown,
  leaves: readonly Leaf[],
  read: readonly unknown[],
  count: number,
): Promise<readonly Tensor[]> {
  const word = `${what}: out`;
  const before = `${what}: the parameters`;
  const given = new Map(
    (await leavesOf(out, word)).map(({ value, path }) => [path.slice(word.length), value]),
  );
  const all = leaves.map(({ value, path }) => {
    const place = path.slice(before.length);
    const found = given.get(place);
    given.delete(place);
    const wanted = [count, ...value.shape];
    if (found === undefined) {
      throw new MercerError(
        'INVALID_ARGUMENT',
        `${word}${place} is missing. Pass a tree like the parameters, of tensors with the examples along axis 0.`,
      );
    }
    found.assertAlive();
    const differs = (code: ConstructorParameters<typeof MercerError>[0]): MercerError =>
      new MercerError(
        code,
        `${word}${place} is ${found.label}, and the gradients are ${value.dtype} ${formatShape(wanted)} on ${value.device.id}. Pass a tensor of that shape and dtype.`,
      );
    if (String(found.shape) !== String(wanted)) throw differs('SHAPE_MISMATCH');
    if (found.dtype !== value.dtype) throw differs('DTYPE_MISMATCH');
    if (found.device !== value.device) throw differs('DEVICE_MISMATCH');
    return found;
  });
  const [more] = given.keys();
  if (more !== undefined) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${word}${more} is no place of a parameter. Pass a tree like the parameters.`,
    );
  }
  const others = leaves.map(({ value }) => value);
  for (const one of read) {
    if (isTree(one)) others.push(...(await leavesOf(one, what)).map(({ value }) => value));
  }
  for (const [at, one] of all.entries()) {
    assertNoOverlap(one, others, what, all.slice(0, at));
  }
  return all;
}

/**
 * That what a loss reads is no memory in which gradients are written.
 *
 * @param args of an operation
 * @throws MercerError OVERLAP
 */
export function assertUnread(
  what: string,
  {
    targets = [],
    leaves,
  }: { readonly targets: readonly Tensor[] | undefined; readonly leaves: readonly Leaf[] },
  args: readonly unknown[],
  operation: string,
): void {
  if (targets.length === 0) return;
  for (const one of flatArguments(args).filter(isTensor)) {
    const at = targets.findIndex((target) => viewsOverlap(target, one));
    if (at < 0) continue;
    const name = (leaves[at] as Leaf).path.slice(`${what}: the parameters`.length);
    throw new MercerError(
      'OVERLAP',
      `${what}: out${name} shares memory with ${one.label}, which the loss reads (${operation}). Pass memory of its own, or let the loss read a clone.`,
    );
  }
}
