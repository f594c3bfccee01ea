import { types } from 'node:util';

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
  !types.isProxy(value) &&
  (Array.isArray(value) || isPlain(value));

/** Whether something is true of one of the arguments, or of an element of one that is a list or a record. */
export function someArgument(args: readonly unknown[], is: (value: unknown) => boolean): boolean {
  return args.some((one) => is(one) || (isNested(one) && someElement(one, is)));
}

/** False too where an element cannot be read: who reads it then says so. */
function someElement(nested: object, is: (value: unknown) => boolean): boolean {
  try {
    return Array.isArray(nested) ? nested.some(is) : someArgument(Object.values(nested), is);
  } catch {
    return false;
  }
}

/** The arguments with every element replaced, those of lists and records, and of records in records, in their place. */
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
    const mapped: readonly unknown[] = value.map(map);
    return mapped.every((one, at) => one === value[at]) ? value : mapped;
  }
  const entries = Object.entries(value);
  const mapped = entries.map(([, one]) => mapNested(one, map));
  if (entries.every(([, one], at) => one === mapped[at])) return value;
  return Object.fromEntries(entries.map(([name], at) => [name, mapped[at]]));
}

/** The elements of arguments in the order in which {@link mapArguments} visits them. */
export function flatArguments(args: readonly unknown[]): readonly unknown[] {
  return args.flatMap((one): readonly unknown[] => {
    if (!isNested(one)) return [one];
    return Array.isArray(one) ? one : flatArguments(Object.values(one));
  });
}

/** The elements of what a rule gave for arguments, in the order of {@link flatArguments}; undefined where it gave none. */
export function flatLike(args: readonly unknown[], given: readonly unknown[]): readonly unknown[] {
  return args.flatMap((one, at): readonly unknown[] => {
    const of = given[at] as Record<string, unknown> | undefined;
    if (!isNested(one)) return [of];
    const names = Object.keys(one);
    const all = names.map((name) => of?.[name]);
    return Array.isArray(one) ? all : flatLike(Object.values(one), all);
  });
}

/** Elements in the places that {@link flatLike} takes them from. */
export function nestedLike(args: readonly unknown[], flat: readonly unknown[]): readonly unknown[] {
  let at = 0;
  return mapArguments(args, () => flat[at++]);
}
