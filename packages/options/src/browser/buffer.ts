/** Encodings of bytes as text that are asked for. */
export type Encoding = 'utf8' | 'hex' | 'base64' | 'latin1';

const latin1 = (bytes: Uint8Array): string => {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
};

function decoded(text: string, encoding: Encoding): Uint8Array<ArrayBuffer> {
  if (encoding === 'utf8') return new TextEncoder().encode(text);
  if (encoding === 'hex')
    return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  return Uint8Array.from(encoding === 'latin1' ? text : atob(text), (one) => one.charCodeAt(0));
}

/** With one signature of its constructor, so that it can be extended. */
const Bytes = Uint8Array as new (
  source: number | ArrayBuffer | ArrayLike<number>,
  byteOffset?: number,
  length?: number,
) => Uint8Array<ArrayBuffer>;

/** Of `node:buffer`: bytes with the methods that are used. */
export class Buffer extends Bytes {
  /** Filled with zeros, with a repeated text, or with repeated bytes. */
  static alloc(length: number, fill?: string | Uint8Array): Buffer {
    const made = new Buffer(length);
    if (fill === undefined) return made;
    const pattern = typeof fill === 'string' ? decoded(fill, 'utf8') : fill;
    for (let at = 0; at < length; at += pattern.length)
      made.set(pattern.subarray(0, length - at), at);
    return made;
  }

  static from(source: unknown, second?: unknown, length?: number): Buffer {
    if (typeof source === 'string') {
      const bytes = decoded(source, (second as Encoding | undefined) ?? 'utf8');
      return new Buffer(bytes.buffer, bytes.byteOffset, bytes.length);
    }
    if (source instanceof ArrayBuffer)
      return new Buffer(source, second as number | undefined, length);
    return new Buffer(source as ArrayLike<number>);
  }

  static concat(parts: readonly Uint8Array[]): Buffer {
    const made = new Buffer(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) {
      made.set(part, at);
      at += part.length;
    }
    return made;
  }

  static compare(a: Uint8Array, b: Uint8Array): number {
    const at = a.findIndex((byte, index) => byte !== b[index]);
    const [left, right] = at < 0 ? [a.length, b.length] : [a[at] ?? -1, b[at] ?? -1];
    return Math.sign(left - right);
  }

  override toString(encoding: Encoding = 'utf8'): string {
    if (encoding === 'utf8') return new TextDecoder().decode(this);
    if (encoding === 'hex')
      return Array.from(this, (byte) => byte.toString(16).padStart(2, '0')).join('');
    return encoding === 'latin1' ? latin1(this) : btoa(latin1(this));
  }

  writeBigUInt64LE(value: bigint, at = 0): number {
    new DataView(this.buffer, this.byteOffset).setBigUint64(at, value, true);
    return at + 8;
  }

  swap16(): this {
    return this.#swap(2);
  }

  swap32(): this {
    return this.#swap(4);
  }

  swap64(): this {
    return this.#swap(8);
  }

  #swap(width: number): this {
    for (let at = 0; at < this.length; at += width)
      Uint8Array.prototype.reverse.call(this.subarray(at, at + width));
    return this;
  }
}
