import { Buffer, type Encoding } from './buffer.js';

/** The first 32 bits of the fractional parts of the cube roots of the first 64 primes (FIPS 180-4, 4.2.2). */
const ROUND = new Uint32Array(64);
/** Of the square roots of the first eight (FIPS 180-4, 5.3.3). */
const START = new Uint32Array(8);

let found = 0;
for (let candidate = 2; found < 64; candidate++) {
  let divisor = 2;
  while (divisor * divisor <= candidate && candidate % divisor !== 0) divisor++;
  if (divisor * divisor <= candidate) continue;
  if (found < 8) START[found] = (Math.sqrt(candidate) % 1) * 2 ** 32;
  ROUND[found++] = (Math.cbrt(candidate) % 1) * 2 ** 32;
}

const turned = (x: number, bits: number): number => (x >>> bits) | (x << (32 - bits));

/** SHA-256 (FIPS 180-4, 6.2) of the whole message, padded to blocks of 64 bytes. */
function sha256(message: Uint8Array): Uint8Array {
  const padded = new Uint8Array(Math.ceil((message.length + 9) / 64) * 64);
  padded.set(message);
  padded[message.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - 8, BigInt(message.length) * 8n);
  const state = START.slice();
  const words = new Uint32Array(64);
  for (let block = 0; block < padded.length; block += 64) {
    for (let t = 0; t < 16; t++) words[t] = view.getUint32(block + 4 * t);
    for (let t = 16; t < 64; t++) {
      const [early, late] = [words[t - 15]!, words[t - 2]!];
      const s0 = turned(early, 7) ^ turned(early, 18) ^ (early >>> 3);
      const s1 = turned(late, 17) ^ turned(late, 19) ^ (late >>> 10);
      words[t] = words[t - 16]! + s0 + words[t - 7]! + s1;
    }
    let [a, b, c, d, e, f, g, h] = state as unknown as [
      number,
      number,
      number,
      number,
      number,
      number,
      number,
      number,
    ];
    for (let t = 0; t < 64; t++) {
      const s1 = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25);
      const first = (h + s1 + ((e & f) ^ (~e & g)) + ROUND[t]! + words[t]!) | 0;
      const s0 = turned(a, 2) ^ turned(a, 13) ^ turned(a, 22);
      const second = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
    }
    for (const [at, value] of [a, b, c, d, e, f, g, h].entries()) state[at]! += value;
  }
  const bytes = new DataView(new ArrayBuffer(32));
  for (const [at, value] of state.entries()) bytes.setUint32(4 * at, value);
  return new Uint8Array(bytes.buffer);
}

class Hash {
  readonly #parts: Uint8Array[] = [];

  update(part: string | Uint8Array): this {
    this.#parts.push(typeof part === 'string' ? Buffer.from(part) : part.slice());
    return this;
  }

  digest(): Buffer;
  digest(encoding: Encoding): string;
  digest(encoding?: Encoding): Buffer | string {
    const sum = Buffer.from(sha256(Buffer.concat(this.#parts)));
    return encoding === undefined ? sum : sum.toString(encoding);
  }
}

/** Of `node:crypto`: SHA-256 is the one that keys and checkpoints use. That of browsers answers by a promise, these are asked at once. */
export function createHash(_algorithm: 'sha256'): Hash {
  return new Hash();
}

export const randomUUID = (): string => globalThis.crypto.randomUUID();
