import { crc32, inflateSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { encodeRgbaPng } from './png.mjs';

it('keeps the pixels of a picture, also of more than one block', () => {
  const [width, height] = [200, 100];
  const pixels = Uint8Array.from({ length: 4 * width * height }, (_, at) => (7 * at) % 251);
  const png = Buffer.from(encodeRgbaPng(pixels, width, height).toString('base64'), 'base64');
  expect(png.subarray(0, 8).toString('latin1')).toBe('\x89PNG\r\n\x1a\n');
  /** @type {Map<string, Buffer>} */
  const chunks = new Map();
  for (let at = 8; at < png.length; at += png.readUInt32BE(at) + 12) {
    const end = at + 8 + png.readUInt32BE(at);
    expect(png.readUInt32BE(end)).toBe(crc32(png.subarray(at + 4, end)));
    chunks.set(png.toString('latin1', at + 4, at + 8), png.subarray(at + 8, end));
  }
  expect([...chunks.keys()]).toEqual(['IHDR', 'IDAT', 'IEND']);
  expect([...(chunks.get('IHDR') ?? [])]).toEqual([0, 0, 0, 200, 0, 0, 0, 100, 8, 6, 0, 0, 0]);
  const lines = inflateSync(chunks.get('IDAT') ?? Buffer.alloc(0));
  const bytes = 4 * width;
  for (let y = 0; y < height; y++) {
    const line = lines.subarray((bytes + 1) * y, (bytes + 1) * (y + 1));
    expect(line[0]).toBe(0);
    expect(line.subarray(1).equals(pixels.subarray(bytes * y, bytes * (y + 1)))).toBe(true);
  }
});
