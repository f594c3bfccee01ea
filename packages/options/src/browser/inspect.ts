import { INSPECT } from '../index.js';

type Shown = Readonly<Record<PropertyKey, unknown>>;

/** Numbers, texts, lists, records, and what shows itself; as Node shows them, on one line. */
function inspectValue(value: unknown): string {
  if (typeof value === 'string') return `'${value}'`;
  if (typeof value === 'bigint') return `${value}n`;
  if (Object.is(value, -0)) return '-0';
  if (typeof value !== 'object' || value === null) return String(value);
  const shows = (value as Shown)[INSPECT];
  if (typeof shows === 'function') return String(shows.call(value, 0, {}, inspectValue));
  if (Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView))) {
    const list = Array.from(value as ArrayLike<unknown>, inspectValue).join(', ');
    return list === '' ? '[]' : `[ ${list} ]`;
  }
  if (value instanceof Error) return String(value);
  const fields = Object.entries(value).map(([name, one]) => `${name}: ${inspectValue(one)}`);
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`;
}

/** Of `node:util`. */
export const inspect = Object.assign((value: unknown, _options?: unknown) => inspectValue(value), {
  custom: INSPECT,
} as const);

/** Of `node:util`. What is a proxy cannot be told, and is looked into like what it stands for. */
export const types = {
  isArrayBuffer: (value: unknown): value is ArrayBuffer => value instanceof ArrayBuffer,
  isPromise: (value: unknown): value is Promise<unknown> => value instanceof Promise,
  isProxy: (_value: unknown): boolean => false,
} as const;
