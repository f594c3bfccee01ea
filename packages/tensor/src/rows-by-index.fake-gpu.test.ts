import { beforeAll, describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../test/memory-kept.mjs';
import { useFakeDriver } from '../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../cuda-runtime/test/find-nvrtc.mjs';
import { countRows } from './count-rows.js';
import { tensor, zeros } from './create.js';
import { device } from './devices.js';
import { gatherRows } from './gather-rows.js';
import { scatterAdd } from './scatter-add.js';

const hasNvrtc = nvrtcFound();

beforeAll(async () => {
  await useFakeDriver({ DEVICES: 2, TOTAL_BYTES: 2 ** 28 });
});

/** The names of what a call launches, in order. */
async function launches(
  call: (debug: (line: string) => void) => Promise<{ dispose: () => void }>,
): Promise<readonly string[]> {
  const names: string[] = [];
  const result = await call((line) => {
    const name = /^launch (.*) on /.exec(line)?.[1];
    if (name !== undefined) names.push(name);
  });
  result.dispose();
  return names;
}

describe.skipIf(!hasNvrtc)(
  'rows by index on a GPU that computes nothing (skipped only without NVRTC)',
  () => {
    it('launches what the number of rows needs, and returns the workspace', async () => {
      const where = { device: 'cuda:0' } as const;
      const values = await zeros([5_000_000, 1], where);
      const index = await zeros([5_000_000], { dtype: 'int32', ...where });
      const pass = ['scatter digits by int32', 'scatter scan', 'scatter place by int32'];
      const sums = ['scatter runs float32 to float32', 'scatter merge float32'];
      for (const [rows, passes] of [
        [7, 1],
        [255, 1],
        [256, 2],
        [70_000, 3],
      ] as const) {
        const kept = await memoryKept(device('cuda:0'), async () => {
          const found = await launches((debug) => scatterAdd(values, index, rows, { debug }));
          const sorted = Array.from({ length: passes }, () => pass).flat();
          expect(found, String(rows)).toEqual([...sorted, ...sums]);
        });
        expect(kept, String(rows)).toEqual(NOTHING);
      }
      const options = { deterministic: false } as const;
      const atomic = await launches((debug) => scatterAdd(values, index, 7, { ...options, debug }));
      expect(atomic).toEqual(['scatter-add float32 to float32 by int32, atomic']);
      const count = (by: typeof index) => launches((debug) => countRows(by, 7, { debug }));
      expect(await count(index)).toEqual(['count-rows int32 by int32, atomic']);
      expect(await launches((debug) => gatherRows(values, index, { debug }))).toHaveLength(1);
      const none = index.slice([0, 0]);
      const empty = values.slice([0, 0]);
      // few entries: one launch, which writes zeros too
      const direct = ['scatter-add float32 to float32 by int32, direct'];
      expect(await launches((debug) => scatterAdd(empty, none, 7, { debug }))).toEqual(direct);
      const [some, few] = [index.slice([0, 3000]), values.slice([0, 3000])];
      expect(await launches((debug) => scatterAdd(few, some, 7, { debug }))).toEqual(direct);
      expect(await count(some)).toEqual(['count-rows int32 by int32, direct']);
      for (const t of [values, index, none, empty, some, few]) t.dispose();
    });

    it('does not mix devices', async () => {
      const values = await zeros([3, 5], { device: 'cuda:0' });
      const index = await tensor(Int32Array.of(0, 1, 2), { device: 'cuda:1' });
      await expect(scatterAdd(values, index, 2)).rejects.toMatchObject({ code: 'DEVICE_MISMATCH' });
      await expect(gatherRows(values, index)).rejects.toMatchObject({ code: 'DEVICE_MISMATCH' });
      const out = await zeros([2], { dtype: 'int32', device: 'cuda:0' });
      await expect(countRows(index, 2, { out })).rejects.toMatchObject({ code: 'DEVICE_MISMATCH' });
      for (const t of [values, index, out]) t.dispose();
    });
  },
);
