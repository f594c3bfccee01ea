// Of the command line's report/png.js: PNGs whose bytes are stored as they are, since pages compress nothing at once.

/** Bytes that a stored block of deflate has at most. */
const BLOCK = 65_535;

const CRCS = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  return crc;
});

/** @param {readonly number[] | Uint8Array} bytes */
function crc32(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crc >>> 8) ^ Number(CRCS[(crc ^ byte) & 255]);
  return ~crc;
}

/** @param {Uint8Array} bytes */
function adler32(bytes) {
  let [a, b] = [1, 0];
  for (const byte of bytes) {
    a = (a + byte) % 65_521;
    b = (b + a) % 65_521;
  }
  return b * 65_536 + a;
}

const big = (/** @type {number} */ value) => [24, 16, 8, 0].map((shift) => (value >>> shift) & 255);

/** @param {Uint8Array} bytes @returns {number[][]} parts of a stream of zlib */
function stored(bytes) {
  const parts = [[0x78, 0x01]];
  for (let at = 0; at < bytes.length; at += BLOCK) {
    const block = bytes.subarray(at, at + BLOCK);
    const [low, high] = [block.length & 255, block.length >> 8];
    const isLast = at + BLOCK >= bytes.length ? 1 : 0;
    parts.push([isLast, low, high, 255 - low, 255 - high], [...block]);
  }
  return [...parts, big(adler32(bytes))];
}

/** @param {string} name @param {readonly number[]} data */
function chunk(name, data) {
  const body = [...new TextEncoder().encode(name), ...data];
  return [...big(data.length), ...body, ...big(crc32(body))];
}

/**
 * @param {Uint8Array} pixels red, green, blue and opacity, row by row @param {number} width @param {number} height
 * @returns {{ toString: (encoding: 'base64') => string }}
 */
export function encodeRgbaPng(pixels, width, height) {
  const lines = new Uint8Array((4 * width + 1) * height); // each begins with filter 0
  for (let y = 0; y < height; y++)
    lines.set(pixels.subarray(4 * width * y, 4 * width * (y + 1)), (4 * width + 1) * y + 1);
  const png = [
    [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a],
    chunk('IHDR', [...big(width), ...big(height), 8, 6, 0, 0, 0]),
    chunk('IDAT', stored(lines).flat()),
    chunk('IEND', []),
  ].flat();
  return { toString: () => btoa(png.map((byte) => String.fromCharCode(byte)).join('')) };
}
