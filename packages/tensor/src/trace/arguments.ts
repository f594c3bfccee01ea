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
    return Object.values(nested).some(is);
  } catch {
    return false;
  }
}

/** The arguments with every element replaced, those of lists and records in their place. */
export function mapArguments(
  args: readonly unknown[],
  map: (value: unknown) => unknown,
): readonly unknown[] {
  return args.map((one) => mapNested(one, map));
}

function mapNested(value: unknown, map: (value: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map(map);
  if (!isNested(value)) return map(value);
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, map(one)]));
}

/** The elements of arguments in the order in which {@link mapArguments} visits them. */
export function flatArguments(args: readonly unknown[]): readonly unknown[] {
  return args.flatMap((one) => (isNested(one) ? Object.values(one) : [one]));
}

/** The elements of what a rule gave for arguments, in the order of {@link flatArguments}; undefined where it gave none. */
export function flatLike(args: readonly unknown[], given: readonly unknown[]): readonly unknown[] {
  return args.flatMap((one, at): readonly unknown[] => {
    const of = given[at];
    if (!isNested(one)) return [of];
    return Object.keys(one).map((name) => (of as Record<string, unknown> | undefined)?.[name]);
  });
}

/** Elements in the places that {@link flatLike} takes them from. */
export function nestedLike(args: readonly unknown[], flat: readonly unknown[]): readonly unknown[] {
  let at = 0;
  return mapArguments(args, () => flat[at++]);
}
