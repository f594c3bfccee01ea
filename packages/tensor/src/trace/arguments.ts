import { types } from 'node:util';
import { isTensor } from '../tensor.js';
import { isTraced } from './traced-value.js';

const isPlain = (value: object): value is Readonly<Record<string, unknown>> => {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
};

/** Lists and plain records, in which arguments may hold tensors. Asks nothing of what may be anything. */
const isNested = (
  value: unknown,
): value is readonly unknown[] | Readonly<Record<string, unknown>> =>
  typeof value === 'object' &&
  value !== null &&
  !isTraced(value) &&
  !types.isProxy(value) &&
  // what most arguments are
  !isTensor(value) &&
  (Array.isArray(value) || isPlain(value));

/** Records that are elements of a list are looked into; lists of lists are data of the host. */
const isNestedElement = (value: unknown): value is Readonly<Record<string, unknown>> =>
  isNested(value) && !Array.isArray(value);

/** Whether something is true of one of the arguments that is an object, or of an element of one that is a list or a record. */
export function someArgument(args: readonly unknown[], is: (value: object) => boolean): boolean {
  for (const one of args) {
    if (typeof one !== 'object' || one === null) continue;
    if (is(one) || (isNested(one) && someElement(one, is))) return true;
  }
  return false;
}

/** False too where an element cannot be read: who reads it then says so. */
function someElement(nested: object, is: (value: object) => boolean): boolean {
  try {
    if (!Array.isArray(nested)) return someArgument(Object.values(nested), is);
    return nested.some(
      (one) =>
        typeof one === 'object' &&
        one !== null &&
        (is(one as object) || (isNestedElement(one) && someElement(one, is))),
    );
  } catch {
    return false;
  }
}

/** The arguments with every element replaced, those of lists and records, and of what is nested in records, in their place. */
export function mapArguments(
  args: readonly unknown[],
  map: (value: unknown) => unknown,
): readonly unknown[] {
  return args.map((one) => mapNested(one, map));
}

/** What nothing was replaced in is the same value. */
function mapNested(value: unknown, map: (value: unknown) => unknown): unknown {
  if (!isNested(value)) return map(value);
  if (Array.isArray(value)) {
    const mapped = value.map((one) => (isNestedElement(one) ? mapNested(one, map) : map(one)));
    return mapped.every((one, at) => one === value[at]) ? value : mapped;
  }
  const entries = Object.entries(value);
  const mapped = entries.map(([, one]) => mapNested(one, map));
  if (entries.every(([, one], at) => one === mapped[at])) return value;
  return Object.fromEntries(entries.map(([name], at) => [name, mapped[at]]));
}

/** The elements of arguments in the order in which {@link mapArguments} visits them: the arguments themselves where none is a list or record. */
export function flatArguments(args: readonly unknown[]): readonly unknown[] {
  if (!args.some(isNested)) return args;
  const flat: unknown[] = [];
  for (const one of args) addFlat(flat, one);
  return flat;
}

function addFlat(flat: unknown[], value: unknown): void {
  if (!isNested(value)) {
    flat.push(value);
    return;
  }
  if (!Array.isArray(value)) {
    for (const one of Object.values(value)) addFlat(flat, one);
    return;
  }
  value.forEach((one: unknown) => {
    if (isNestedElement(one)) addFlat(flat, one);
    else flat.push(one);
  });
}

const refuses = (): never => {
  throw new TypeError('a derivative rule gives a list or record for an argument that is one');
};

/**
 * The elements of what a rule gave for arguments, in the order of {@link flatArguments}; undefined where it gave none. Where it gave one thing
 * for a list or a record, what throws when it is asked for an element's share.
 */
export function flatLike(args: readonly unknown[], given: readonly unknown[]): readonly unknown[] {
  return args.flatMap((one, at) => likeOne(one, given[at]));
}

function likeOne(value: unknown, given: unknown): readonly unknown[] {
  if (!isNested(value)) return [given];
  if (given !== undefined && !isNested(given)) return flatArguments([value]).map(() => refuses);
  const names = Object.keys(value);
  const all = names.map((name) => (given as Record<string, unknown> | undefined)?.[name]);
  if (!Array.isArray(value)) return flatLike(Object.values(value), all);
  return value.flatMap((one: unknown, at) =>
    isNestedElement(one) ? likeOne(one, all[at]) : [all[at]],
  );
}

/** Elements in the places that {@link flatLike} takes them from. */
export function nestedLike(args: readonly unknown[], flat: readonly unknown[]): readonly unknown[] {
  let at = 0;
  return mapArguments(args, () => flat[at++]);
}

/** The arguments of a call with their elements: lists and records are walked through once. */
export class Arguments {
  /** As {@link flatArguments} gives them. */
  readonly flat: readonly unknown[];
  /** Arguments whose lists and records these have; undefined where there are none. */
  readonly #form: readonly unknown[] | undefined;
  #all: readonly unknown[] | undefined;

  private constructor(
    flat: readonly unknown[],
    form: readonly unknown[] | undefined,
    all: readonly unknown[] | undefined,
  ) {
    this.flat = flat;
    this.#form = form;
    this.#all = all;
  }

  static of(all: readonly unknown[]): Arguments {
    const flat = flatArguments(all);
    return new Arguments(flat, flat === all ? undefined : all, all);
  }

  /** The same of arguments that are neither lists nor records. */
  static ofSingle(all: readonly unknown[]): Arguments {
    return new Arguments(all, undefined, all);
  }

  get all(): readonly unknown[] {
    return (this.#all ??= this.#form === undefined ? this.flat : nestedLike(this.#form, this.flat));
  }

  /** As {@link flatLike} gives them. */
  like(given: readonly unknown[]): readonly unknown[] {
    return this.#form === undefined ? given : flatLike(this.#form, given);
  }

  /** Other elements in the places of these. */
  with(flat: readonly unknown[]): Arguments {
    return new Arguments(flat, this.#form, undefined);
  }
}
