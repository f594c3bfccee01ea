import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { unzipSync, zipSync } from 'fflate';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeNpy } from './npy-codec.js';
import { NpyError } from './npy-error.js';
import { listNpz, readNpz } from './read-npz.js';
import { ALL_DTYPES, anyArray, randomData, rawBytes } from './testing/arrays.test-support.js';
import { fileWith, headerText, rejectionCode } from './testing/broken-files.test-support.js';
import { writeNpz } from './write-npz.js';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mercer-npz-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

const ones = encodeNpy({ data: new Float32Array(1000).fill(1), shape: [1000] });

describe('readNpz and writeNpz', () => {
  it('round-trip every type, stored and deflated, by path and from bytes', async () => {
    for (const compress of [false, true]) {
      const path = join(folder, `all-${compress}.npz`);
      const arrays = new Map(
        ALL_DTYPES.map((dtype, i) => [
          `array ${dtype}`,
          {
            dtype,
            data: randomData(dtype, 30_000, i),
            shape: [300, 100],
            fortranOrder: i % 2 === 1,
          },
        ]),
      );
      await writeNpz(path, arrays, { compress });
      for (const source of [path, new Uint8Array(await readFile(path))]) {
        const back = await readNpz(source);
        expect([...back.keys()]).toEqual([...arrays.keys()]);
        for (const [name, array] of arrays) {
          expect(back.get(name)).toMatchObject({
            dtype: array.dtype,
            fortranOrder: array.fortranOrder,
          });
          expect(
            rawBytes(back.get(name)?.data ?? new Uint8Array(0)).equals(rawBytes(array.data)),
          ).toBe(true);
        }
      }
    }
  });

  it('reads only the members asked for and lists without reading', async () => {
    const bytes = zipSync({
      'a.npy': ones,
      'b.npy': new Uint8Array(9),
      'notes.txt': new Uint8Array(3),
    });
    expect((await listNpz(bytes)).map((member) => member.name)).toEqual(['a', 'b']);
    expect([...(await readNpz(bytes, { members: ['a'] })).keys()]).toEqual(['a']);
    await expect(readNpz(bytes, { members: ['c'] })).rejects.toThrow(
      /no array "c". It has "a", "b"/,
    );
    expect(await rejectionCode(readNpz(bytes, { members: ['c'] }))).toBe('NPY_NOT_FOUND');
    expect(await rejectionCode(readNpz(bytes))).toBe('NPY_TRUNCATED'); // member b is nine zeros
  });

  it('equal arrays give equal archives', async () => {
    const x = { data: Float32Array.of(1, 2), shape: [2] };
    await writeNpz(join(folder, '1.npz'), { x }, { compress: true });
    await writeNpz(join(folder, '2.npz'), { x }, { compress: true });
    const [one, two] = await Promise.all([1, 2].map((i) => readFile(join(folder, `${i}.npz`))));
    expect(one?.equals(two ?? Buffer.alloc(0))).toBe(true);
  });

  it('names are labels: one that looks like a path or a prototype key stays a key of the map', async () => {
    const bytes = zipSync({ '../../etc/passwd.npy': ones, '__proto__.npy': ones });
    const arrays = await readNpz(bytes);
    expect([...arrays.keys()].sort()).toEqual(['../../etc/passwd', '__proto__']);
  });

  it('writes names with slashes and letters of any language, which other readers find', async () => {
    const path = join(folder, 'labels.npz');
    const names = ['a/b', 'layer/0/weight', '..a/b..', 'naïve/重み', '__proto__'];
    const arrays = new Map(
      names.map((name, i) => [name, { data: Float64Array.of(i), shape: [1] }]),
    );
    for (const compress of [false, true]) {
      await writeNpz(path, arrays, { compress });
      expect([...(await readNpz(path)).keys()]).toEqual(names);
      const members = unzipSync(new Uint8Array(await readFile(path)));
      expect(Object.keys(members).sort()).toEqual(names.map((name) => `${name}.npy`).sort());
      for (const [i, name] of names.entries()) {
        const found = Object.getOwnPropertyDescriptor(members, `${name}.npy`)?.value as Uint8Array;
        expect(found).toEqual(encodeNpy({ data: Float64Array.of(i), shape: [1] }));
      }
    }
    expect(await readdir(folder)).not.toContain('a');
  });

  it('writes an archive of nothing', async () => {
    await writeNpz(join(folder, 'none.npz'), {});
    expect((await readNpz(join(folder, 'none.npz'))).size).toBe(0);
  });

  it('refuses to write names that would lead an unpacking tool astray, and wrong arrays', async () => {
    const x = { data: Float32Array.of(1), shape: [1] };
    const paths = ['', '../x', '/a', 'a/', 'a//b', 'a/../b', './a', '..', 'a\\b', 'C:a', 'c:/a'];
    for (const name of [...paths, 'a\0', 'a\u009b1m', 'a\ud800', 'x'.repeat(201)]) {
      const write = writeNpz(join(folder, 'no.npz'), { [name]: x });
      expect(await rejectionCode(write)).toBe('NPY_ARGUMENT');
    }
    const wrong = writeNpz(join(folder, 'no.npz'), { x: { ...x, shape: [2] } });
    expect(await rejectionCode(wrong)).toBe('NPY_ARGUMENT');
    expect(await rejectionCode(readNpz(join(folder, 'no.npz')))).toBe('NPY_NOT_FOUND');
  });
});

describe('hostile archives', () => {
  it('an archive that would expand too far is refused from its directory alone', async () => {
    const bomb = patchDirectory(zipSync({ 'bomb.npy': ones }), 24, 2 ** 30);
    const before = process.memoryUsage().arrayBuffers;
    await expect(readNpz(bomb)).rejects.toThrow(/would expand to 1073741824, more than 200 times/);
    expect(await rejectionCode(readNpz(bomb))).toBe('NPY_TOO_LARGE');
    expect(await rejectionCode(readNpz(bomb, { maxRatio: 1e9 }))).toBe('NPY_INVALID'); // the claim was a lie
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 ** 20);
  });

  it('members that each stay below the limit are added up', async () => {
    let bomb = zipSync({ 'a.npy': ones, 'b.npy': ones, 'c.npy': ones });
    for (const member of [0, 1, 2]) bomb = patchDirectory(bomb, 24, 10 ** 8, 4, member);
    expect(await rejectionCode(readNpz(bomb))).toBe('NPY_TOO_LARGE');
    expect(await rejectionCode(readNpz(bomb, { members: ['b', 'c'] }))).toBe('NPY_INVALID');
  });

  it('a member that expands beyond what the directory announces is stopped', async () => {
    const bytes = zipSync({ 'x.npy': ones });
    const lying = patchDirectory(bytes, 24, 200);
    expect(await rejectionCode(readNpz(lying))).toBe('NPY_INVALID');
  });

  it('a member that expands to less than announced is refused', async () => {
    const member = fileWith(headerText("'<f4'", '(100,)'), new Uint8Array(80));
    const bytes = patchDirectory(zipSync({ 'x.npy': member }), 24, member.length + 320);
    expect(await rejectionCode(readNpz(bytes))).toBe('NPY_TRUNCATED');
    const vague = patchDirectory(zipSync({ 'x.npy': ones }), 24, 5000);
    expect(await rejectionCode(readNpz(vague))).toBe('NPY_INVALID');
  });

  it('a header inside a member that claims more than the member is refused', async () => {
    const member = fileWith(headerText("'<f8'", `(${2n ** 40n},)`), new Uint8Array(64));
    expect(await rejectionCode(readNpz(zipSync({ 'x.npy': member })))).toBe('NPY_TRUNCATED');
  });

  it('wrong checksums, encryption, methods, duplicates, overlaps and counts are refused', async () => {
    const bytes = zipSync({ 'x.npy': ones, 'y.npy': ones }, { level: 0 });
    expect(await rejectionCode(readNpz(patchDirectory(bytes, 16, 1)))).toBe('NPY_INVALID');
    expect(await rejectionCode(readNpz(patchDirectory(bytes, 8, 1, 2)))).toBe('NPY_UNSUPPORTED');
    expect(await rejectionCode(readNpz(patchDirectory(bytes, 10, 12, 2)))).toBe('NPY_UNSUPPORTED');
    const renamed = Uint8Array.from(bytes);
    renamed[Buffer.from(renamed.buffer).lastIndexOf('y.npy')] = 'x'.charCodeAt(0);
    expect(await rejectionCode(readNpz(renamed))).toBe('NPY_INVALID');
    expect(await rejectionCode(readNpz(patchDirectory(bytes, 42, 10)))).toBe('NPY_INVALID');
    expect(await rejectionCode(readNpz(bytes, { maxEntries: 1 }))).toBe('NPY_TOO_LARGE');
    const overlapping = patchDirectory(patchDirectory(bytes, 20, 4800), 24, 4800);
    expect(await rejectionCode(readNpz(overlapping))).toBe('NPY_INVALID');
  });

  it('a directory that claims more members than it has bytes is refused', async () => {
    const bytes = zipSync({ 'x.npy': ones });
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    view.setUint16(bytes.length - 22 + 10, 4000, true);
    expect(await rejectionCode(readNpz(bytes))).toBe('NPY_INVALID');
  });

  it('what is no archive is refused', async () => {
    expect(await rejectionCode(readNpz(new Uint8Array(0)))).toBe('NPY_INVALID');
    expect(await rejectionCode(readNpz(new Uint8Array(10_000)))).toBe('NPY_INVALID');
    expect(await rejectionCode(readNpz(ones))).toBe('NPY_INVALID');
    expect(await rejectionCode(readNpz(folder))).toBe('NPY_IO');
  });

  it('damage of any kind gives NpyError or the right arrays and nothing else', async () => {
    let refused = 0;
    let accepted = 0;
    const change = fc.record({ at: fc.nat(100_000), byte: fc.nat(255), cut: fc.nat(20) });
    await fc.assert(
      fc.asyncProperty(
        anyArray,
        fc.boolean(),
        fc.array(change, { minLength: 1, maxLength: 4 }),
        async (array, compress, changes) => {
          let bytes = zipSync({ 'x.npy': encodeNpy(array) }, { level: compress ? 6 : 0 });
          for (const { at, byte, cut } of changes) {
            bytes[at % bytes.length] = byte;
            if (cut === 0) bytes = bytes.slice(0, at % bytes.length);
            if (bytes.length === 0) return;
          }
          try {
            const back = await readNpz(bytes);
            for (const { data } of back.values()) {
              expect(rawBytes(data).equals(rawBytes(array.data))).toBe(true);
            }
            accepted++;
          } catch (error) {
            if (!(error instanceof NpyError)) throw error;
            refused++;
          }
        },
      ),
      { numRuns: 1500, seed: 5 },
    );
    expect(refused).toBeGreaterThan(500);
    expect(accepted).toBeGreaterThan(20);
  });
});

/** Sets a field of one member (the first unless said) in the central directory. */
function patchDirectory(
  bytes: Uint8Array,
  field: number,
  value: number,
  width = 4,
  member = 0,
): Uint8Array<ArrayBuffer> {
  const copy = Buffer.from(bytes);
  const signature = Buffer.from('PK\x01\x02', 'latin1');
  let start = copy.indexOf(signature);
  for (let i = 0; i < member; i++) start = copy.indexOf(signature, start + 4);
  copy.writeUIntLE(value, start + field, width);
  return new Uint8Array(copy);
}
