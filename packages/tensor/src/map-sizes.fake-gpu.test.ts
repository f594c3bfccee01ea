import { add, variable } from '@mercer/formula';
import { isEmitted } from '@mercer/kernels';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { useFakeDriver } from '../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../cuda-runtime/test/find-nvrtc.mjs';
import { empty } from './create.js';
import { DeviceKernel } from './device-kernel.js';
import { map } from './map.js';
import type { Tensor } from './tensor.js';

beforeAll(async () => {
  await useFakeDriver({ DEVICES: 1, TOTAL_BYTES: 2 ** 32 });
});

const SUM = add(variable('x'), variable('y'));

const on = { device: 'cuda:0' } as const;
/** Memory of 17 rows that lie far apart. */
let far: Tensor | undefined;

/** A matrix, the rows of which may lie far apart, and a row. */
function operands([rows, columns, isFar = false]: Size) {
  if (isFar) far ??= empty([17, 2 ** 27], { ...on, dtype: 'uint8' });
  const x =
    far && isFar
      ? far.slice([0, rows], [0, columns])
      : empty([rows, columns], { ...on, dtype: 'uint8' });
  return { x, y: empty([columns], on) };
}

type Size = readonly [rows: number, columns: number, isFar?: boolean];

/** Long rows and short ones that are no whole packs, with places within 32 bits and beyond. */
const SIZES: readonly Size[] = [
  [9, 20],
  [300, 3],
  [17, 21, true],
  [17, 3, true],
];

interface Launch {
  readonly text: string;
  readonly numbers: object | undefined;
}

/** The text of each kernel that `work` launches, and its numbers. */
async function launched(work: () => unknown): Promise<readonly Launch[]> {
  const enqueue = vi.spyOn(DeviceKernel.prototype, 'enqueue');
  await work();
  const contexts = enqueue.mock.contexts as readonly DeviceKernel[];
  const found = contexts.map(({ kernel }, at) => ({
    text: isEmitted(kernel) ? kernel.source : kernel.name,
    numbers: enqueue.mock.calls[at]?.[1].scalars,
  }));
  enqueue.mockRestore();
  return found;
}

describe.skipIf(!nvrtcFound())(
  'prepared maps on a GPU that computes nothing (skipped only without NVRTC)',
  () => {
    it.each(SIZES.map((size) => [size]))(
      'for %j launch of every size what a call does',
      async (first) => {
        const example = operands(first);
        const prepared = await map.prepare(SUM, example);
        const texts = new Set<string>();
        for (const size of SIZES) {
          const given = operands(size);
          const wanted = await launched(() => map(SUM, given));
          expect(await launched(() => prepared(given))).toEqual(wanted);
          for (const { text } of wanted) texts.add(text);
        }
        expect(texts.size).toBe(3);
      },
    );

    it('of lists are one launch whatever the sizes', async () => {
      const lists = (...sizes: typeof SIZES) => {
        const all = sizes.map((size) => operands(size));
        return { x: all.map(({ x }) => x), y: all.map(({ y }) => y) };
      };
      const [long, short, longFar, shortFar] = SIZES as [Size, Size, Size, Size];
      const prepared = await map.prepare(SUM, lists(long, short));
      for (const sizes of [
        [short, short],
        [longFar, long],
        [shortFar, short],
      ]) {
        const given = lists(...sizes);
        const wanted = await launched(() => map(SUM, given));
        expect(wanted).toHaveLength(1);
        expect(await launched(() => prepared(given))).toEqual(wanted);
      }
    });
  },
);
