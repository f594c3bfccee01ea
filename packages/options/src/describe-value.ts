import { MercerError } from './mercer-error.js';

/** A value as messages name it: short, and never its content. Reads nothing from objects, whose getters may throw. */
export function describeValue(value: unknown): string {
  if (typeof value === 'string') {
    return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}...` : value);
  }
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'bigint') return `${value}n`.slice(0, 40);
  if (typeof value !== 'object' || value === null) return String(value).slice(0, 40);
  try {
    if (Array.isArray(value)) return `an array of ${value.length}`;
    if (!ArrayBuffer.isView(value)) return describeObject(value);
    const type = Object.prototype.toString.call(value).slice(8, -1);
    return `a ${type} of ${value.byteLength} bytes`;
  } catch {
    return 'an object that cannot be read';
  }
}

/** The same with the elements of a short array, for options that are pairs or lists of numbers. */
export function describeList(value: unknown): string {
  try {
    if (Array.isArray(value) && value.length <= 8) {
      return `[${Array.from(value, describeValue).join(', ')}]`;
    }
  } catch {
    return 'an array that cannot be read';
  }
  return describeValue(value);
}

/**
 * The first mistake of most: a promise where its value is wanted.
 *
 * @param what the operation and what is wrong in it: `cdist: a`
 * @throws MercerError INVALID_ARGUMENT "cdist: a is a Promise. Did you forget await?"
 */
export function refusePromise(value: unknown, what: string): void {
  if (typeof value !== 'object' || describeValue(value) !== A_PROMISE) return;
  throw new MercerError('INVALID_ARGUMENT', `${what} is a Promise. Did you forget await?`);
}

const A_PROMISE = 'a Promise (did you forget await?)';

function describeObject(value: object): string {
  const prototype = Object.getPrototypeOf(value) as { constructor?: { name?: unknown } } | null;
  const name = prototype === Object.prototype ? '' : prototype?.constructor?.name;
  // pending tensors have constructors of their own
  if (name === 'Promise' || value instanceof Promise) return A_PROMISE;
  return typeof name === 'string' && name !== '' ? `a ${name.slice(0, 40)}` : 'an object';
}
