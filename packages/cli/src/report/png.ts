import { crc32, deflateSync } from 'node:zlib';

/** A greyscale PNG picture: `pixels` are bytes, row-major, 0 black. */
export function encodeGreyPng(pixels: Uint8Array, width: number, height: number): Buffer {
  if (pixels.length !== width * height) {
    throw new RangeError(
      `Cannot encode the picture: ${pixels.length} pixels are not ${width} x ${height}. Pass one byte a pixel.`,
    );
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 0, 0, 0, 0], 8); // 8 bits, grey, deflate, standard filters, not interlaced
  const lines = Buffer.alloc((width + 1) * height); // each line begins with filter 0
  for (let y = 0; y < height; y++) {
    lines.set(pixels.subarray(y * width, (y + 1) * width), y * (width + 1) + 1);
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
