import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readNpy } from './read-npy.js';
import { readNpz } from './read-npz.js';
import { rawBytes } from './testing/arrays.test-support.js';
import { fileWith, headerText } from './testing/broken-files.test-support.js';
import { longestBlockMs } from './testing/longest-block.test-support.js';
import { writeNpy } from './write-npy.js';
import { writeNpz } from './write-npz.js';

/** What a caller's timers may have to wait. */
const MOST_MS = 50;
const COUNT = 25_000_000;

let folder = '';
const at = (name: string): string => join(folder, name);
/** 200 MB that deflate well; the zeros below deflate to a thousandth. */
const data = new Float64Array(COUNT);
const zeros = new Float64Array(COUNT);
const flags = new Uint8Array(8 * COUNT);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mercer-loop-'));
  for (let i = 0; i < COUNT; i++) data[i] = (i * 7919) % 10007;
  for (let i = 0; i < flags.length; i++) flags[i] = i & 3;
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe('the event loop goes on while 200 MB', () => {
  it('are written to an archive and read, stored and deflated, from a file and from memory', async () => {
    for (const compress of [false, true]) {
      for (const array of compress ? [data.subarray(0, COUNT / 5), zeros] : [data]) {
        const path = at('a.npz');
        const x = { data: array, shape: [array.length] };
        await expectNoBlock(`write ${compress}`, () => writeNpz(path, { x }, { compress }));
        let back: Float64Array | undefined;
        for (const source of [path, new Uint8Array(await readFile(path))]) {
          await expectNoBlock(`read ${compress} ${typeof source}`, async () => {
            back = (await readNpz(source, { maxRatio: 2000 })).get('x')?.data as Float64Array;
          });
        }
        expect(rawBytes(back ?? new Float64Array(0)).equals(rawBytes(array))).toBe(true);
      }
    }
  }, 300_000);

  it('are written as .npy and read, in either byte order, as flags and as narrow integers too', async () => {
    const path = at('a.npy');
    for (const array of [
      { data, shape: [COUNT] },
      { data: flags, dtype: 'bool' as const, shape: [8 * COUNT] },
    ]) {
      for (const byteOrder of ['little', 'big'] as const) {
        await expectNoBlock(`write ${byteOrder}`, () => writeNpy(path, array, { byteOrder }));
        await expectNoBlock(`read ${byteOrder}`, () => readNpy(path));
      }
    }
    for (const descr of ['|i1', '>u2', '<u4', '>u8']) {
      const bytes = fileWith(
        headerText(`'${descr}'`, `(${(8 * COUNT) / Number(descr[2])},)`),
        flags,
      );
      await expectNoBlock(`read ${descr}`, () => readNpy(bytes));
    }
  }, 300_000);
});

async function expectNoBlock(what: string, body: () => Promise<unknown>): Promise<void> {
  const ms = await longestBlockMs(body);
  expect(ms, what).toBeLessThan(MOST_MS);
}
