import { describe, expect, it } from 'vitest';
import { decodeNpy } from './npy-codec.js';
import { listNpz, readNpz } from './read-npz.js';
import { readNpy } from './read-npy.js';
import {
  codeOf,
  fileWith,
  headerText,
  rejectionCode,
} from './testing/broken-files.test-support.js';
import { NUMPY_INT16, NUMPY_INTEGERS } from './testing/numpy-integers.test-support.js';

const TYPES = [
  ['i1', 'int32', -(2n ** 7n), 2n ** 7n - 1n],
  ['i2', 'int32', -(2n ** 15n), 2n ** 15n - 1n],
  ['u2', 'int32', 0n, 2n ** 16n - 1n],
  ['u4', 'int64', 0n, 2n ** 32n - 1n],
  ['u8', 'int64', 0n, 2n ** 63n - 1n],
] as const;

describe('integer types that Mercer lacks', () => {
  it.each(TYPES)(
    '%s is read as %s with every value, as numpy wrote it',
    async (type, dtype, least, most) => {
      const rows = [least, most, 0n, 1n, most - 1n, 7n];
      const columns = [least, 1n, most, most - 1n, 0n, 7n];
      for (const order of ['<', '>']) {
        const members = [`${order}${type}/C`, `${order}${type}/F`];
        const arrays = await readNpz(NUMPY_INTEGERS, { members });
        expect(arrays.get(members[0] ?? '')).toMatchObject({
          dtype,
          shape: [2, 3],
          fortranOrder: false,
        });
        expect(arrays.get(members[1] ?? '')).toMatchObject({
          dtype,
          shape: [2, 3],
          fortranOrder: true,
        });
        const [inC, inF] = members.map((name) => Array.from(arrays.get(name)?.data ?? [], BigInt));
        expect([inC, inF]).toEqual([rows, columns]);
      }
    },
  );

  it('are read from .npy bytes at once and with pauses, of any rank', async () => {
    for (const array of [decodeNpy(NUMPY_INT16), await readNpy(NUMPY_INT16)]) {
      expect(array).toMatchObject({ dtype: 'int32', shape: [2, 2], fortranOrder: true });
      expect(Array.from(array.data, Number)).toEqual([-32768, 2, 1, 32767]);
    }
    const { scalar, empty } = Object.fromEntries(
      await readNpz(NUMPY_INTEGERS, { members: ['scalar', 'empty'] }),
    );
    expect([scalar?.shape, scalar?.dtype, ...(scalar?.data ?? [])]).toEqual([[], 'int32', -7]);
    expect([empty?.shape, empty?.dtype, empty?.data.length]).toEqual([[0, 3], 'int64', 0]);
  });

  it('keep every element where there are many: the wide ones are laid over the narrow ones', () => {
    const count = 3 * 2 ** 18 + 5;
    const narrow = Int16Array.from({ length: count }, (_, i) => Math.imul(i, 40503));
    const wide = decodeNpy(
      fileWith(headerText("'<i2'", `(${count},)`), new Uint8Array(narrow.buffer)),
    );
    expect((wide.data as Int32Array).every((value, i) => value === narrow[i])).toBe(true);
    const half = Uint32Array.from({ length: count }, (_, i) => Math.imul(i, 2654435761));
    const long = decodeNpy(
      fileWith(headerText("'<u4'", `(${count},)`), new Uint8Array(half.buffer)),
    );
    expect((long.data as BigInt64Array).every((value, i) => value === BigInt(half[i] ?? 0))).toBe(
      true,
    );
  });

  it('refuse a uint64 that int64 does not hold, with the element and its value', async () => {
    const read = readNpz(NUMPY_INTEGERS, { members: ['overflow/uint64'] });
    await expect(read).rejects.toThrow(
      /uint64 element 1 is 9223372036854775808, .*2\^63 - 1.*astype/,
    );
    expect(await rejectionCode(readNpz(NUMPY_INTEGERS))).toBe('NPY_UNSUPPORTED');
  });

  it('count with their bytes in memory for maxBytes, with those in the file for the length', () => {
    const bytes = fileWith(headerText("'|i1'", '(8,)'), new Uint8Array(8));
    expect(codeOf(() => decodeNpy(bytes, { maxBytes: 31 }))).toBe('NPY_TOO_LARGE');
    expect(codeOf(() => decodeNpy(bytes, { maxBytes: 32 }))).toBeUndefined();
    const short = fileWith(headerText("'<u8'", '(8,)'), new Uint8Array(63));
    expect(() => decodeNpy(short)).toThrow(/of uint64 is 64 bytes and 63 follow/);
    const claim = fileWith(headerText("'|i1'", `(${2n ** 52n},)`), new Uint8Array(8));
    expect(codeOf(() => decodeNpy(claim))).toBe('NPY_TOO_LARGE'); // 2^54 bytes as int32
  });

  it('stand in archives under names with slashes, which stay labels', async () => {
    const names = (await listNpz(NUMPY_INTEGERS)).map(({ name }) => name);
    expect(names).toContain('overflow/uint64');
    expect(names).toContain('<i1/C');
  });
});
