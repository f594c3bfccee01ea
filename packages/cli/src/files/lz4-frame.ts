const MAGIC = 0x184d2204;
/** Lengths of 15 go on in further bytes. */
const LONG = 15;
const LEAST_MATCH = 4;

/**
 * The bytes of a frame of LZ4, as Arrow files hold them. Checksums are passed over.
 *
 * The format is that of the LZ4 frame and block descriptions, lz4.org.
 *
 * @throws Error for a frame that is cut off or damaged
 */
export function decodeLz4Frame(frame: Uint8Array): Uint8Array<ArrayBuffer> {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  const flags = frame.length < 7 || view.getUint32(0, true) !== MAGIC ? undefined : frame[4];
  if (flags === undefined || flags >> 6 !== 1) throw damaged();
  const has = (bit: number): boolean => ((flags >> bit) & 1) === 1;
  const mostOfBlock = 2 ** (8 + 2 * (((frame[5] ?? 0) >> 4) & 7));
  let at = 7 + (has(3) ? 8 : 0) + (has(0) ? 4 : 0);
  let out = new Uint8Array(mostOfBlock);
  let end = 0;
  for (;;) {
    if (at + 4 > frame.length) throw damaged();
    const head = view.getUint32(at, true);
    at += 4;
    if (head === 0) return out.slice(0, end);
    const block = frame.subarray(at, at + (head & 0x7fffffff));
    if (block.length < (head & 0x7fffffff)) throw damaged();
    at += block.length + (has(4) ? 4 : 0);
    if (end + mostOfBlock > out.length) {
      const larger = new Uint8Array(2 * out.length + mostOfBlock);
      larger.set(out.subarray(0, end));
      out = larger;
    }
    if (head >>> 31 === 0) end = decodeBlock(block, out, end);
    else {
      if (block.length > mostOfBlock) throw damaged();
      out.set(block, end);
      end += block.length;
    }
  }
}

/** Writes a block from `end` of `out` on, where what came before it may be repeated; returns its own end. */
function decodeBlock(block: Uint8Array, out: Uint8Array, start: number): number {
  let at = 0;
  let end = start;
  const next = (): number => {
    const byte = block[at++];
    if (byte === undefined) throw damaged();
    return byte;
  };
  const length = (nibble: number): number => {
    let all = nibble;
    if (nibble < LONG) return all;
    for (let more = 255; more === 255; all += more) more = next();
    return all;
  };
  for (;;) {
    const token = next();
    const literals = length(token >> 4);
    if (at + literals > block.length || end + literals > out.length) throw damaged();
    out.set(block.subarray(at, at + literals), end);
    at += literals;
    end += literals;
    if (at === block.length) return end;
    const distance = next() + 256 * next();
    const match = length(token & 15) + LEAST_MATCH;
    if (distance === 0 || distance > end || end + match > out.length) throw damaged();
    // byte by byte: a match may repeat what it writes
    for (const stop = end + match; end < stop; end++) out[end] = out[end - distance] ?? 0;
  }
}

const damaged = (): Error => new Error('a compressed part of it is damaged or cut off');
