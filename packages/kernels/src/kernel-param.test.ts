import { expect, test } from 'vitest';
import fc from 'fast-check';
import { packParams, type KernelParam } from './kernel-param.js';
import { withWorkspace } from './emitted-kernel.js';
import { pairwiseParams } from './pairwise/params.js';

const pointer: KernelParam = { name: 'x', kind: 'pointer', dtype: 'float32', access: 'read' };
const int32: KernelParam = { name: 'n', kind: 'scalar', type: 'int32' };
const map: KernelParam = { name: 't', kind: 'tensorMap' };

test('pads to natural alignment and to the whole', () => {
  expect(packParams([int32, pointer, int32])).toEqual({
    offsets: [0, 8, 16],
    sizes: [4, 8, 4],
    bytes: 24,
    alignment: 8,
  });
});

test('a tensor map lies at a multiple of 64', () => {
  expect(packParams([pointer, map, int32])).toMatchObject({
    offsets: [0, 64, 192],
    bytes: 256,
    alignment: 64,
  });
});

test('no parameters take no bytes', () => {
  expect(packParams([])).toEqual({ offsets: [], sizes: [], bytes: 0, alignment: 1 });
});

test('pairwise parameters: fourteen of eight bytes, the workspace last', () => {
  const params = withWorkspace(pairwiseParams('float64'), 'write');
  expect(packParams(params).offsets).toEqual(params.map((_, index) => index * 8));
  expect(params.at(-1)).toMatchObject({ name: 'workspace', dtype: 'byte', access: 'write' });
});

test('never overlaps, never misaligns', () => {
  const param = fc.constantFrom(pointer, int32, map, {
    name: 'd',
    kind: 'scalar',
    type: 'float64',
  } as KernelParam);
  fc.assert(
    fc.property(fc.array(param, { maxLength: 20 }), (params) => {
      const { offsets, sizes, bytes } = packParams(params);
      let end = 0;
      params.forEach((one, index) => {
        const [offset = -1, size = 0] = [offsets[index], sizes[index]];
        expect(offset).toBeGreaterThanOrEqual(end);
        expect(offset % (one.kind === 'tensorMap' ? 64 : size)).toBe(0);
        end = offset + size;
      });
      expect(bytes).toBeGreaterThanOrEqual(end);
    }),
    { seed: 7 },
  );
});
