import { isPending, isTensor, MercerError, type Tensor } from '@mercer/tensor';
import { describeValue } from '@mercer/options';
import { arrivedNow, formatShape, Traced } from '@mercer/tensor/operation';
import { handleOf, untraced } from './trace/handed.js';
import { pullBack } from './trace/pull-back.js';
import { allOf, isFloating, isThenable } from './trace/values.js';
import { Linear } from './trace/linear.js';
import { Reverse, type Seed, type Source } from './trace/reverse.js';
import { leavesOf, leavesOrLater, replaced, type Leaf } from './tree.js';

/** What a function may give that is differentiated. */
export type Differentiable = Tensor | PromiseLike<Tensor>;

/** A function of tensors and other things. */
export type TensorFunction<A extends readonly unknown[]> = (...args: A) => Differentiable;

/** Which arguments are differentiated: one, or several. */
export type ArgNums = number | readonly number[];

/** How a function is put on a tape. */
export interface TapeOptions {
  /** Default: the first. */
  readonly argnums?: ArgNums | undefined;
  /** Variables of whole numbers are taken, as constants. */
  readonly allowUnused?: boolean | undefined;
  /** The function gives an array of its value and of what is no part of it. */
  readonly hasAux?: boolean | undefined;
  /** Results with NaN are refused. */
  readonly detectNaN?: boolean | undefined;
  /** Heeded between operations. */
  readonly signal?: AbortSignal | undefined;
  /** The value is a tree, and gradients are taken more than once. */
  readonly keeps?: boolean | undefined;
  /** In what the function has to be linear, if it has. */
  readonly linearIn?: string | undefined;
}

/** A variable: a tensor by which a call is differentiated. */
export type Variable = Leaf & {
  /** The number of the argument that it belongs to. */
  readonly argument: number;
  /** Where it is on the tape; undefined for whole numbers. */
  readonly source: Source | undefined;
};

/** A tensor of what a call gave. */
export interface Output {
  readonly value: Tensor;
  readonly path: string;
  /** Where it is on the tape; undefined where it depends on no variable. */
  readonly source: Source | undefined;
}

/** A call of a function on a tape. */
export interface TapedCall {
  readonly tape: Reverse;
  /** Of all arguments in order. */
  readonly leaves: readonly Variable[];
  /** The leaves as they stand in the arguments: one tree, or one for each of several arguments. */
  rebuilt(gradients: readonly unknown[]): unknown;
  /** The tensors of the value, for the caller to dispose. */
  readonly outputs: readonly Output[];
  /** The value: a tensor, or a tree of them. */
  readonly value: unknown;
  /** What the function gave beside it. */
  readonly aux: unknown;
  /** The tensors of the value and those of `aux` that were traced: the caller disposes them, or gives them on. */
  readonly handles: readonly Tensor[];
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
  f: (...args: never[]) => unknown,
  args: readonly unknown[],
  options: TapeOptions,
): Promise<TapedCall> {
  const { argnums = 0, allowUnused = false, keeps = false } = options;
  const numbers = checkArgnums(what, argnums, args.length);
  const visited = allOf(numbers.map((at) => leavesOrLater(args[at], `${what}: argument ${at}`)));
  const trees = visited instanceof Promise ? await visited : visited;
  const empty = trees.findIndex((tree) => tree.length === 0);
  if (empty >= 0) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: argument ${numbers[empty]} holds no tensor. Pass a tensor, or arrays and objects of tensors.`,
    );
  }
  const { linearIn, detectNaN, signal } = options;
  const tape =
    linearIn === undefined
      ? new Reverse(what, detectNaN, signal)
      : new Linear(what, linearIn, signal);
  const handles: Tensor[] = [];
  try {
    const given = [...args];
    const leaves = trees.flatMap((tree, k) => {
      const at = numbers[k] ?? 0;
      const made = tree.map((leaf) => {
        if (!isFloating(leaf.value)) {
          if (!allowUnused) throw notFloating(leaf);
          return { value: leaf.value, path: leaf.path, argument: at, source: undefined };
        }
        const { value, source } = tape.input(leaf.value, leaf.path);
        return { value, path: leaf.path, argument: at, source };
      });
      given[at] = replaced(
        args[at],
        made.map(({ value }) => value),
      );
      return made;
    });
    const returned = settledNow((f as (...given: readonly unknown[]) => unknown)(...given));
    const all = isThenable(returned) ? await returned : returned;
    const [result, beside] = options.hasAux === true ? pairOf(what, all) : [all, undefined];
    const found = keeps
      ? await leavesOf(result, `${what}: the value`, RETURN_TENSORS)
      : [resultOf(what, isThenable(result) ? await result : result)];
    for (const { value } of found) value.assertAlive();
    const aux = beside === undefined ? undefined : await untraced(beside, tape, handles);
    const closing = tape.close();
    if (closing !== undefined) await closing;
    if (tape.detectsNaN) await tape.assertNoNaN();
    const outputs = found.map(({ value, path }): Output => {
      const given: unknown = value;
      if (!(given instanceof Traced && given.trace === tape))
        return { value: handleOf(value), path, source: undefined };
      // what rules read stays the tape's
      const own = keeps ? handleOf(given.primal) : tape.taken(given.primal);
      return { value: own, path, source: given.record as Source | undefined };
    });
    const rebuilt = (gradients: readonly unknown[]): unknown => {
      let start = 0;
      const built = trees.map((tree, k) => {
        const own = gradients.slice(start, (start += tree.length));
        return replaced(args[numbers[k] ?? 0], own);
      });
      return Array.isArray(argnums) ? built : built[0];
    };
    const own = outputs.map(({ value }) => value);
    handles.push(...own);
    for (const one of handles) tape.noteHanded(one);
    const value = keeps ? replaced(result, own) : own[0];
    return { tape, leaves, rebuilt, outputs, value, aux, handles };
  } catch (error) {
    for (const one of handles) one.dispose();
    await tape.close();
    tape.dispose();
    throw error;
  }
}

/** The gradient of each variable; undefined where no cotangent depends on it. */
export async function pulled(
  { tape, leaves }: TapedCall,
  seeds: readonly Seed[],
  keeps: boolean,
): Promise<readonly (Tensor | undefined)[]> {
  const wanted = leaves.flatMap(({ source }) => source ?? []);
  const found = await pullBack(tape, seeds, wanted, keeps);
  if (found.length === leaves.length) return found;
  let at = 0;
  return leaves.map(({ source }) => (source === undefined ? undefined : found[at++]));
}

/** A result where it is there, or is launched at once; else as it is. */
const settledNow = (given: unknown): unknown =>
  isPending(given) ? (arrivedNow([given])?.[0] ?? given) : given;

/** @throws MercerError INVALID_ARGUMENT */
function pairOf(what: string, given: unknown): readonly [unknown, unknown] {
  if (Array.isArray(given) && given.length === 2) return given as [unknown, unknown];
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: with hasAux the function gave ${describeValue(given)}. Return [value, aux].`,
  );
}

const notFloating = ({ value, path }: Leaf): MercerError =>
  new MercerError(
    'DTYPE_MISMATCH',
    `${path} is ${value.dtype} ${formatShape(value.shape)}, by which nothing is differentiated. Name floating-point arguments with argnums, or cast it; allowUnused gives zeros.`,
  );

/** What a function gives that does not. */
export const RETURN_TENSORS = 'Return tensors, or arrays and objects of tensors';

function resultOf(what: string, value: unknown): Leaf {
  if (isTensor(value) || value instanceof Traced)
    return { value: value as Tensor, path: `${what}: the value` };
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: the function gave ${describeValue(value)}. Return a tensor, a result that is not awaited yet, or a promise of one.`,
  );
}
