/*
 * Values of another realm: a frame of a page, a context of `node:vm`, a test of Jest. They are of the kinds of this realm, but `instanceof` says that
 * they are not.
 */
const ofTypedArrays = Object.getPrototypeOf(Uint8Array.prototype) as object;

type Kind = new (buffer: ArrayBufferLike, offset?: number, length?: number) => ArrayBufferView;

/**
 * A typed array of another realm as one of this realm over the same memory; all else as it is.
 *
 * ```ts
 * import { runInNewContext } from 'node:vm';
 * import { ofThisRealm } from '@mercer/options';
 *
 * const numbers: unknown = runInNewContext('Float32Array.of(1, 2)');
 * console.log(numbers instanceof Float32Array, ofThisRealm(numbers) instanceof Float32Array); // false true
 * ```
 */
export function ofThisRealm<T>(value: T): T {
  if (!ArrayBuffer.isView(value)) return value;
  // a DataView has none
  const name = Reflect.get(ofTypedArrays, Symbol.toStringTag, value) as string | undefined;
  const kind = name === undefined ? undefined : (globalThis as Record<string, unknown>)[name];
  if (typeof kind !== 'function' || value instanceof kind) return value;
  const { buffer, byteOffset, length } = value as unknown as Uint8Array;
  const Own = kind as Kind;
  // of a detached buffer there can be no view
  const view = length === 0 ? new Own(new ArrayBuffer(0)) : new Own(buffer, byteOffset, length);
  return view as unknown as T;
}

/** Whether a value is a Map, of whichever realm. */
export const isMap = (value: unknown): value is ReadonlyMap<unknown, unknown> =>
  value instanceof Map || Object.prototype.toString.call(value) === '[object Map]';
