import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeNpy, encodeNpy } from './npy-codec.js';
import { NpyError } from './npy-error.js';
import { anyArray } from './testing/arrays.test-support.js';
import { codeOf, fileWith, headerText } from './testing/broken-files.test-support.js';

const eight = new Uint8Array(8);
const f4 = "'<f4'";

describe('decodeNpy refuses', () => {
  it.each<[string, Uint8Array, string]>([
    ['nothing', new Uint8Array(0), 'NPY_TRUNCATED'],
    ['half a signature', new Uint8Array([0x93, 0x4e]), 'NPY_TRUNCATED'],
    ['another format', new Uint8Array(100).fill(0x50), 'NPY_INVALID'],
    ['version 0', fileWith(headerText(f4, '(2,)'), eight, 0), 'NPY_UNSUPPORTED'],
    ['version 4', fileWith(headerText(f4, '(2,)'), eight, 4), 'NPY_UNSUPPORTED'],
    ['a header cut short', fileWith(headerText(f4, '(2,)')).slice(0, 40), 'NPY_TRUNCATED'],
    ['version 2 cut in its length', fileWith('{}', eight, 2).slice(0, 11), 'NPY_TRUNCATED'],
    ['a header of a megabyte', fileWith(' '.repeat(2 ** 20), eight, 2), 'NPY_TOO_LARGE'],
    ['a header length of 4 GiB', hugeHeader(), 'NPY_TOO_LARGE'],
    ['data cut short', fileWith(headerText(f4, '(3,)'), eight), 'NPY_TRUNCATED'],
    ['data left over', fileWith(headerText(f4, '(1,)'), eight), 'NPY_INVALID'],
    ['objects', fileWith(headerText("'|O'", '(1,)'), eight), 'NPY_UNSUPPORTED'],
    ['sized objects', fileWith(headerText("'|O8'", '(1,)'), eight), 'NPY_UNSUPPORTED'],
    ['structures', fileWith(headerText("[('x', '<f4')]", '(2,)'), eight), 'NPY_UNSUPPORTED'],
    ['complex numbers', fileWith(headerText("'<c8'", '(1,)'), eight), 'NPY_UNSUPPORTED'],
    ['text', fileWith(headerText("'<U2'", '(1,)'), eight), 'NPY_UNSUPPORTED'],
    ['float128', fileWith(headerText("'<f16'", '(2,)'), eight), 'NPY_UNSUPPORTED'],
    ['no byte order', fileWith(headerText("'f4'", '(2,)'), eight), 'NPY_UNSUPPORTED'],
    ['a type that names a method', fileWith(headerText("'|toString'", '()')), 'NPY_UNSUPPORTED'],
    ['an extent of 2^63', fileWith(headerText(f4, `(${2n ** 63n},)`), eight), 'NPY_INVALID'],
    [
      'an extent of a thousand digits',
      fileWith(headerText(f4, `(${'9'.repeat(1000)},)`)),
      'NPY_INVALID',
    ],
    ['a negative extent', fileWith(headerText(f4, '(-1,)'), eight), 'NPY_INVALID'],
    ['a fractional extent', fileWith(headerText(f4, '(1.5,)'), eight), 'NPY_INVALID'],
    [
      'sizes that wrap 64 bits to 8',
      fileWith(headerText(f4, `(${2n ** 62n}, 4, 2)`), eight),
      'NPY_TOO_LARGE',
    ],
    [
      'a product that wraps to 0',
      fileWith(headerText(f4, `(${2n ** 32n}, ${2n ** 32n})`)),
      'NPY_TOO_LARGE',
    ],
    [
      'a petabyte in a small file',
      fileWith(headerText(f4, `(${2n ** 48n},)`), eight),
      'NPY_TRUNCATED',
    ],
    [
      'an unsafe extent beside a zero',
      fileWith(headerText(f4, `(0, ${2n ** 62n})`)),
      'NPY_TOO_LARGE',
    ],
    ['65 axes', fileWith(headerText(f4, `(${'1,'.repeat(65)})`), eight), 'NPY_INVALID'],
    ['a shape that is no tuple', fileWith(headerText(f4, '(2)'), eight), 'NPY_INVALID'],
    ['a list as shape', fileWith(headerText(f4, '[2]'), eight), 'NPY_INVALID'],
    ['an expression as shape', fileWith(headerText(f4, '(1+1,)'), eight), 'NPY_INVALID'],
    ['a call', fileWith(headerText(f4, '__import__("os")'), eight), 'NPY_INVALID'],
    ['an order that is a number', fileWith(headerText(f4, '(2,)', '1'), eight), 'NPY_INVALID'],
    ['an unknown key', fileWith("{'descr': '<f4', 'x': 1}"), 'NPY_INVALID'],
    ['__proto__ as key', fileWith("{'__proto__': '<f4'}"), 'NPY_INVALID'],
    ['a key given twice', fileWith("{'descr': '<f4', 'descr': '<f4'}"), 'NPY_INVALID'],
    ['missing keys', fileWith("{'descr': '<f4', 'shape': (2,)}", eight), 'NPY_INVALID'],
    ['an open dictionary', fileWith("{'descr': '<f4'"), 'NPY_INVALID'],
    ['an open quote', fileWith("{'descr: "), 'NPY_INVALID'],
    ['an escape', fileWith("{'de\\x73cr': '<f4'}"), 'NPY_INVALID'],
    [
      'text after the dictionary',
      fileWith(headerText(f4, '(2,)') + '; import os', eight),
      'NPY_INVALID',
    ],
    ['an empty header', fileWith(''), 'NPY_INVALID'],
    ['NUL in the header', fileWith("{'descr'\0"), 'NPY_INVALID'],
    ['letters outside ASCII', fileWith("{'descr': '<f4\xff'}"), 'NPY_INVALID'],
  ])('%s', (_, bytes, code) => {
    expect(codeOf(() => decodeNpy(bytes))).toBe(code);
  });

  it('before it allocates: a thousand claims of a terabyte cost no memory', () => {
    const bytes = fileWith(headerText("'<f8'", `(${2n ** 37n},)`), new Uint8Array(64));
    const before = process.memoryUsage().arrayBuffers;
    for (let i = 0; i < 1000; i++) expect(codeOf(() => decodeNpy(bytes))).toBe('NPY_TRUNCATED');
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 ** 24);
  });

  it('with a message that says what, why and how to fix it', () => {
    const bytes = fileWith(headerText(f4, '(3, 5)'), eight);
    expect(() => decodeNpy(bytes)).toThrow(
      'Cannot read the array: shape (3, 5) of float32 is 60 bytes and 8 follow the header. ' +
        'The file is cut short or its header lies; write it again.',
    );
  });

  it('anything but a valid file with NpyError and nothing else (byte flips, cuts and splices of valid files)', () => {
    let accepted = 0;
    let refused = 0;
    const mutations = fc.array(
      fc.record({
        kind: fc.constantFrom('set', 'cut', 'insert'),
        at: fc.nat(220),
        byte: fc.oneof(
          fc.nat(255),
          fc.constantFrom(...Buffer.from("0123456789(),'{}<>|OTrueL \\")),
        ),
      }),
      { minLength: 1, maxLength: 6 },
    );
    fc.assert(
      fc.property(anyArray, mutations, (array, changes) => {
        let bytes: number[] = [...encodeNpy(array)];
        for (const { kind, at, byte } of changes) {
          if (kind === 'set') bytes[Math.min(at, bytes.length - 1)] = byte;
          else if (kind === 'insert') bytes.splice(at, 0, byte);
          else bytes = bytes.slice(0, at);
          if (bytes.length === 0) bytes = [0];
        }
        try {
          const result = decodeNpy(Uint8Array.from(bytes));
          const size = result.shape.reduce((a, b) => a * b, 1);
          expect(result.data.length).toBe(size);
          accepted++;
        } catch (error) {
          if (!(error instanceof NpyError)) throw error;
          refused++;
        }
      }),
      { numRuns: 3000, seed: 7 },
    );
    expect(accepted).toBeGreaterThan(20);
    expect(refused).toBeGreaterThan(1000);
  });

  it('random bytes behind a true signature', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.constantFrom(1, 2, 3), (noise, version) => {
        const bytes = Uint8Array.from([
          ...Buffer.from('\x93NUMPY', 'latin1'),
          version,
          0,
          ...noise,
        ]);
        expect(codeOf(() => decodeNpy(bytes))).toMatch(/^NPY_/);
      }),
      { numRuns: 2000, seed: 3 },
    );
  });
});

function hugeHeader(): Uint8Array {
  const bytes = fileWith('{}', eight, 2);
  bytes.set([0xff, 0xff, 0xff, 0xff], 8);
  return bytes;
}
