import { isTensor, MercerError } from '@mercer/tensor';

/** Names that data has where it is an object: strided data, and vectors and tables of Arrow. No option is called so. */
const DATA = ['data', 'shape', 'toArray', 'getChildAt'] as const;

/**
 * The one place that tells options from rows: options are a plain object, of this realm or another, that is neither a tensor nor
 * data that a tensor can be made from.
 */
export function isOptions(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  try {
    if (isTensor(value)) return false;
    const prototype: unknown = Object.getPrototypeOf(value);
    const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null;
    return isPlain && !DATA.some((name) => Object.hasOwn(value, name));
  } catch {
    return true; // a Proxy that throws: the reader of options refuses it
  }
}

/**
 * What stands behind a in `f(a, b, options)` and `f(a, options)`: the second rows, undefined where they are left out, and the
 * options.
 *
 * @param call how the function is called with both, for the message
 * @throws MercerError INVALID_ARGUMENT for options in both places
 */
export function rowsAndOptions<B, O extends object>(
  what: string,
  call: string,
  second: B | O | undefined,
  third: O | undefined,
): readonly [b: B | undefined, options: O | undefined] {
  if (!isOptions(second)) return [second, third];
  if (third === undefined) return [undefined, second];
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: the second rows, b, are ${objectInWords(second)}, and options stand behind them. Call ${call}, or leave b out: the options follow a then.`,
  );
}

/**
 * @throws MercerError INVALID_ARGUMENT where options stand in the place of rows that a call cannot do without
 */
export function refuseOptionsAsRows(what: string, call: string, rows: unknown): void {
  if (!isOptions(rows)) return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: the second rows, b, are ${objectInWords(rows)}, which are options. Options stand behind b: call ${call}.`,
  );
}

function objectInWords(value: object): string {
  let names: readonly string[] = [];
  try {
    names = Object.keys(value);
  } catch {
    // a Proxy that throws
  }
  const shown = names.slice(0, 8).map((name) => name.slice(0, 40));
  return shown.length === 0 ? 'an object without properties' : `an object with ${shown.join(', ')}`;
}
