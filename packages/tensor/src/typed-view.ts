const ofTypedArrays = Object.getPrototypeOf(Uint8Array.prototype) as object;

/** The name of a typed array's kind, which arrays of every realm have; undefined for a DataView. */
const kindOf = (view: ArrayBufferView): string | undefined =>
  Reflect.get(ofTypedArrays, Symbol.toStringTag, view) as string | undefined;

type Kind = new (buffer: ArrayBufferLike, offset: number, length: number) => ArrayBufferView;

/**
 * A typed array of another realm (a frame of a page, a context of `node:vm`, a test of Jest) as one of this realm over the same memory, so that
 * `instanceof` knows its kind; all others as they are.
 */
export function ofThisRealm(view: ArrayBufferView): ArrayBufferView {
  const name = kindOf(view);
  const kind = name === undefined ? undefined : (globalThis as Record<string, unknown>)[name];
  if (typeof kind !== 'function' || view instanceof kind) return view;
  const { buffer, byteOffset, length } = view as Uint8Array;
  return new (kind as Kind)(buffer, byteOffset, length);
}
