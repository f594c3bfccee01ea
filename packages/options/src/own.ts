/**
 * The named properties that a value has itself, undefined where it has none: what is read of an object that may have others
 * beside them, as the results of a call have. Nothing comes from its prototypes.
 *
 * @example
 * ```ts
 * import { own } from '@mercer/options';
 *
 * const saved: { readonly q: number; readonly r?: number } = { q: 2 };
 * const { q, r = 1 } = own(saved, 'q', 'r'); // r is 1, whatever Object.prototype has
 * console.log(q + r); // 3
 * ```
 */
export function own<O extends object, const K extends KeyOf<O>>(
  value: O,
  ...names: readonly K[]
): { readonly [P in K]: ValueOf<O, P> } {
  const read: Record<string, unknown> = {};
  const given: unknown = value;
  const isObject = typeof given === 'object' && given !== null;
  for (const name of names) {
    read[name] = isObject && Object.hasOwn(given, name) ? value[name as keyof O] : undefined;
  }
  return read as { readonly [P in K]: ValueOf<O, P> };
}

/** Of a union, the names of all. */
type KeyOf<O> = O extends unknown ? Extract<keyof O, string> : never;
type ValueOf<O, P extends string> = O extends unknown
  ? P extends keyof O
    ? O[P]
    : undefined
  : never;
