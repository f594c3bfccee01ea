import { crc32, deflateSync } from 'node:zlib';

/** A greyscale PNG picture: `pixels` are bytes, row-major, 0 black. */
export const encodeGreyPng = (pixels: Uint8Array, width: number, height: number): Buffer =>
  encodePng(pixels, width, height, 1);

/** The same with four bytes a pixel: red, green, blue and opacity. */
export const encodeRgbaPng = (pixels: Uint8Array, width: number, height: number): Buffer =>
  encodePng(pixels, width, height, 4);

function encodePng(pixels: Uint8Array, width: number, height: number, channels: 1 | 4): Buffer {
  if (pixels.length !== width * height * channels) {
    throw new RangeError(
      `Cannot encode the picture: ${pixels.length / channels} pixels are not ${width} x ${height}. Pass ${channels} bytes a pixel.`,
    );
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, channels === 1 ? 0 : 6, 0, 0, 0], 8); // 8 bits, grey or colours with opacity, deflate, standard filters, not interlaced
  const bytes = width * channels;
  const lines = Buffer.alloc((bytes + 1) * height); // each line begins with filter 0
  for (let y = 0; y < height; y++) {
    lines.set(pixels.subarray(y * bytes, (y + 1) * bytes), y * (bytes + 1) + 1);
  }
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(lines, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  framed.set(body, 4);
  framed.writeUInt32BE(crc32(body), body.length + 4);
  return framed;
}
