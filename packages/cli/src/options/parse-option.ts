import { InvalidArgumentError } from 'commander';

/** A norm's exponent: a positive number, or `inf`. */
export function parseP(text: string): number {
  if (/^(inf|infinity)$/i.test(text)) return Infinity;
  const p = Number(text);
  if (text.trim() === '' || !(p > 0)) {
    throw new InvalidArgumentError(`p must be a number above 0, or inf, and is '${text}'`);
  }
  return p;
}

/** A count: an integer of at least 1. */
export function parseCount(text: string): number {
  const count = Number(text);
  if (!/^\d+$/.test(text) || count < 1 || !Number.isSafeInteger(count)) {
    throw new InvalidArgumentError(`a whole number of at least 1 is needed and it is '${text}'`);
  }
  return count;
}

/** An integer of at least 0. */
export function parseWhole(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value)) {
    throw new InvalidArgumentError(`a whole number of at least 0 is needed and it is '${text}'`);
  }
  return value;
}

/** A number of seconds above 0. */
export function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (text.trim() === '' || !(seconds > 0) || !Number.isFinite(seconds)) {
    throw new InvalidArgumentError(`a number of seconds above 0 is needed and it is '${text}'`);
  }
  return seconds;
}

/** A finite number above 0. */
export function parsePositive(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !(value > 0) || !Number.isFinite(value)) {
    throw new InvalidArgumentError(`a number above 0 is needed and it is '${text}'`);
  }
  return value;
}

/** A finite number of at least 0. */
export function parseNonNegative(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= 0) || !Number.isFinite(value)) {
    throw new InvalidArgumentError(`a number of at least 0 is needed and it is '${text}'`);
  }
  return value;
}

/** A size in bytes: a number with an optional unit, as in `500M` or `2GiB` (powers of 1024). */
export function parseBytes(text: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*(?:([kmgt])(?:i?b)?|b)?$/i.exec(text.trim());
  if (match === null) {
    throw new InvalidArgumentError(`a size such as 500M or 2GiB is needed and it is '${text}'`);
  }
  const power = ' kmgt'.indexOf((match[2] ?? ' ').toLowerCase());
  return Math.round(Number(match[1]) * 1024 ** power);
}

/** Makes a parser of comma-separated lists out of one for a single value; refuses an empty list. */
export function parseList<T>(parseOne: (text: string) => T): (text: string) => T[] {
  return (text) => {
    const parts = text.split(',').map((part) => part.trim());
    if (parts.includes('')) throw new InvalidArgumentError(`the list '${text}' has an empty entry`);
    return parts.map(parseOne);
  };
}

/** A parser that knows all that it takes, which shells complete. */
type ChoiceParser<T> = ((text: string) => T) & { readonly choices: readonly T[] };

/** Makes a parser that takes one of the given words. */
export function parseChoice<T extends string>(choices: readonly T[]): ChoiceParser<T> {
  const parse = (text: string): T => {
    const found = choices.find((choice) => choice === text);
    if (found !== undefined) return found;
    throw new InvalidArgumentError(`'${text}' is none of ${choices.join(', ')}`);
  };
  return Object.assign(parse, { choices });
}

/** A device: `cpu`, `cuda` or `cuda:` with an index. */
export function parseDevice(text: string): DeviceId {
  if (text === 'cpu' || text === 'cuda') return text;
  const match = /^cuda:(\d{1,3})$/.exec(text);
  if (match !== null) return `cuda:${Number(match[1])}`;
  throw new InvalidArgumentError(`a device is cpu, cuda or cuda:0 (1, 2, ...), not '${text}'`);
}

/** The name of a device on the command line. */
export type DeviceId = 'cpu' | 'cuda' | `cuda:${number}`;
