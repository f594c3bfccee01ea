/**
 * Trees of tensors: for packages whose functions take them.
 *
 * @packageDocumentation
 */
import { isPending, isTensor, MercerError, type Tensor } from '@mercer/tensor';
import { failed, isTraced } from '@mercer/tensor/operation';
import { describeValue } from '@mercer/options';

/** A tensor, or objects and arrays of them, as deep as one likes. */
export type Tree = Tensor | readonly Tree[] | { readonly [name: string]: Tree };

/** A leaf of a tree with where it stands, such as `argument 0.layers[1].bias`. */
export interface Leaf {
  readonly value: Tensor;
  readonly path: string;
}

const REMEDY =
  'Pass a tensor, or arrays and objects of tensors; name the arguments that are to be differentiated with argnums';

/** The tensors of a tree, those that are pending waited for. @param hasToo what else a tree may have @throws MercerError INVALID_ARGUMENT for what is no tensor */
export async function leavesOf(
  tree: unknown,
  path: string,
  remedy = REMEDY,
  hasToo: (value: unknown) => boolean = () => false,
): Promise<readonly Leaf[]> {
  return leavesOrLater(tree, path, remedy, hasToo);
}

/** The same; not their promise where none is pending. */
export function leavesOrLater(
  tree: unknown,
  path: string,
  remedy = REMEDY,
  hasToo: (value: unknown) => boolean = () => false,
): readonly Leaf[] | Promise<readonly Leaf[]> {
  const leaves: Leaf[] = [];
  const visit = function* (one: unknown, at: string, around: readonly unknown[]): Visits {
    const value: unknown = isPending(one) ? yield one : one;
    if (isTensor(value) || isTraced(value)) {
      leaves.push({ value: value as Tensor, path: at });
      return;
    }
    if (around.includes(value)) {
      throw new MercerError(
        'INVALID_ARGUMENT',
        `${at} is an object that it is part of. ${remedy}.`,
      );
    }
    const within = [...around, value];
    if (Array.isArray(value)) {
      for (let k = 0; k < value.length; k++) {
        const element: unknown = value[k];
        if (isTensor(element)) leaves.push({ value: element, path: `${at}[${k}]` });
        else yield* visit(element, `${at}[${k}]`, within);
      }
    } else if (isRecord(value)) {
      for (const name of Object.keys(value)) {
        const member = value[name];
        if (isTensor(member)) leaves.push({ value: member, path: `${at}.${name}` });
        else yield* visit(member, `${at}.${name}`, within);
      }
    } else if (!hasToo(value)) {
      throw new MercerError('INVALID_ARGUMENT', `${at} is ${describeValue(value)}. ${remedy}.`);
    }
  };
  const visits = visit(tree, path, []);
  try {
    const first = visits.next();
    return first.done === true ? leaves : otherVisits(visits, first.value).then(() => leaves);
  } catch (error) {
    return failed(error);
  }
}

/** Gives what it has to wait for, and takes what that is of. */
type Visits = Generator<PromiseLike<unknown>, void, unknown>;

async function otherVisits(visits: Visits, first: PromiseLike<unknown>): Promise<void> {
  let waiting: PromiseLike<unknown> | undefined = first;
  while (waiting !== undefined) {
    const { done, value }: IteratorResult<PromiseLike<unknown>, void> = visits.next(await waiting);
    waiting = done === true ? undefined : value;
  }
}

/** A tensor, or what will be one. */
export const isLeaf = (value: unknown): boolean =>
  isPending(value) || isTensor(value) || isTraced(value);

/** Whether a value has a tensor, and nothing that a tree has not. */
export function isTree(value: unknown): boolean {
  if (isLeaf(value)) return true;
  const members: readonly unknown[] | undefined = Array.isArray(value)
    ? value
    : isRecord(value)
      ? Object.values(value)
      : undefined;
  return members !== undefined && members.length > 0 && members.every(isTree);
}

/** The tree with its tensors replaced, in the order of {@link leavesOf}. */
export function replaced(tree: unknown, leaves: Iterable<unknown>): unknown {
  const next = leaves[Symbol.iterator]();
  const visit = (one: unknown): unknown => {
    if (isLeaf(one)) return next.next().value;
    if (Array.isArray(one)) return one.map(visit);
    if (!isRecord(one)) return one;
    const made: Record<string, unknown> = { ...one };
    for (const name of Object.keys(made)) made[name] = visit(made[name]);
    return made;
  };
  return visit(tree);
}

/** A tree with its promises awaited. */
export type Settled<T> = T extends Tensor
  ? T
  : T extends PromiseLike<infer V>
    ? Settled<V>
    : T extends object
      ? { [K in keyof T]: Settled<T[K]> }
      : T;

/** The same shape of tree with something else in the place of each tensor. */
export type Like<T, L> = T extends Tensor ? L : { readonly [K in keyof T]: Like<T[K], L> };

/** Whether something is a plain object, whose members a tree has. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
