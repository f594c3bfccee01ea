import { isTensor, MercerError, type Tensor } from '@mercer/tensor';
import { describeValue } from '@mercer/options';
import { formatShape, Traced } from '@mercer/tensor/operation';
import { isFloating } from './trace/recording.js';
import { Reverse, type Source } from './trace/reverse.js';
import { leavesOf, replaced, type Leaf } from './tree.js';

/** What a function may give that is differentiated. */
export type Differentiable = Tensor | PromiseLike<Tensor>;

/** A function of tensors and other things. */
export type TensorFunction<A extends readonly unknown[]> = (...args: A) => Differentiable;

/** Which arguments are differentiated: one, or several. */
export type ArgNums = number | readonly number[];

/** A call of a function on a tape. */
export interface TapedCall {
  readonly tape: Reverse;
  /** The tensors by which it is differentiated, of all arguments in order. */
  readonly leaves: readonly (Leaf & { readonly source: Source })[];
  /** The leaves as they stand in the arguments: one tree, or one for each of several arguments. */
  rebuilt(gradients: readonly unknown[]): unknown;
  /** What the function gave, for the caller to dispose. */
  readonly value: Tensor;
  /** Where it is on the tape; undefined where it depends on no argument. */
  readonly source: Source | undefined;
}

/** The argument numbers of a call. @throws MercerError INVALID_ARGUMENT */
export function checkArgnums(what: string, argnums: unknown, count: number): readonly number[] {
  const list: readonly unknown[] = Array.isArray(argnums) ? argnums : [argnums];
  for (const one of list) {
    if (Number.isInteger(one) && Number(one) >= 0 && Number(one) < count) continue;
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: argnums names argument ${describeValue(one)} of a call with ${count}. Count the arguments from 0.`,
    );
  }
  if (new Set(list).size < list.length || list.length === 0) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: argnums is [${list.join(', ')}]. Name at least one argument, each once.`,
    );
  }
  return list as readonly number[];
}

/** Runs a function on a tape. Who calls disposes the tape. */
export async function taped(
  what: string,
  f: TensorFunction<never>,
  args: readonly unknown[],
  argnums: ArgNums,
  allowUnused: boolean,
): Promise<TapedCall> {
  const numbers = checkArgnums(what, argnums, args.length);
  const trees = await Promise.all(
    numbers.map((at) => leavesOf(args[at], `${what}: argument ${at}`)),
  );
  const tape = new Reverse(what);
  try {
    const given = [...args];
    const leaves = trees.flatMap((tree, k) => {
      const made = tree.map((leaf) => {
        if (!isFloating(leaf.value) && !allowUnused) throw notFloating(leaf);
        return { ...leaf, ...tape.input(leaf.value, leaf.path) };
      });
      const at = numbers[k] ?? 0;
      given[at] = replaced(
        args[at],
        made.map(({ value }) => value),
      );
      return made;
    });
    const value = await resultOf(what, f, given);
    await tape.close();
    const traced = value instanceof Traced && value.trace === tape ? value : undefined;
    const rebuilt = (gradients: readonly unknown[]): unknown => {
      let start = 0;
      const built = trees.map((tree, k) => {
        const own = gradients.slice(start, (start += tree.length));
        return replaced(args[numbers[k] ?? 0], own);
      });
      return Array.isArray(argnums) ? built : built[0];
    };
    return {
      tape,
      leaves,
      rebuilt,
      value: tape.taken(traced === undefined ? value : traced.primal),
      source: traced?.record as Source | undefined,
    };
  } catch (error) {
    await tape.close();
    tape.dispose();
    throw error;
  }
}

const notFloating = ({ value, path }: Leaf): MercerError =>
  new MercerError(
    'DTYPE_MISMATCH',
    `${path} is ${value.dtype} ${formatShape(value.shape)}, by which nothing is differentiated. Name floating-point arguments with argnums, or cast it; allowUnused gives zeros.`,
  );

async function resultOf(
  what: string,
  f: TensorFunction<never>,
  args: readonly unknown[],
): Promise<Tensor> {
  const value: unknown = await (f as (...given: readonly unknown[]) => unknown)(...args);
  if (isTensor(value) || value instanceof Traced) {
    value.assertAlive();
    return value as Tensor;
  }
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: the function gave ${describeValue(value)}. Return a tensor, a result that is not awaited yet, or a promise of one.`,
  );
}
