// Writes packages/cli/data/digits.br from the digits of the development dependency mnist: a byte for each label, then one for each pixel, all
// compressed by brotli. A test compares the file with the package, pixel by pixel; so this runs only where the layout changes.
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { brotliCompressSync, constants } from 'node:zlib';

const cli = new URL('../packages/cli/', import.meta.url);
/** @type {readonly { raw: readonly number[] }[]} */
const classes = createRequire(cli)('mnist');
const labels = classes.flatMap(({ raw }, label) => raw.map(() => label).slice(0, raw.length / 784));
const pixels = classes.flatMap(({ raw }) => raw.map((value) => Math.round(value * 255)));
const params = {
  [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
  [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
};
const bytes = brotliCompressSync(Uint8Array.from([...labels, ...pixels]), { params });
writeFileSync(new URL('data/digits.br', cli), bytes);
console.log(`${labels.length} digits in ${bytes.length} bytes`);
