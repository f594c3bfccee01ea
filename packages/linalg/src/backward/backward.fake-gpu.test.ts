import { device, memory } from '@mercer/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { useFakeDriver, useFakeSolvers } from '../../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { DTYPES } from '../matrices.test-support.js';
import { everyRule } from './every-rule.test-support.js';

const hasNvrtc = nvrtcFound();

beforeAll(async () => {
  await useFakeDriver({ DEVICES: 1, TOTAL_BYTES: 2 ** 30 });
  await useFakeSolvers();
});

describe.skipIf(!hasNvrtc)(
  'backward rules behind the fake driver (skipped only without NVRTC)',
  () => {
    it.each(DTYPES)(
      'compile, are enqueued and leave nothing behind: %s',
      { timeout: 300_000 },
      async (dtype) => {
        const gpu = device('cuda:0');
        const rules = await everyRule(dtype, gpu);
        for (const [name, rule] of Object.entries(rules)) {
          const before = memory().tensors;
          const results = Object.entries(await rule());
          expect(results.length).toBeGreaterThan(0);
          for (const [input, t] of results) {
            expect([name, input, t.dtype, t.device]).toEqual([name, input, dtype, gpu]);
            t.dispose();
          }
          // the collector may find tensors of the set-up meanwhile
          expect([name, Math.max(0, memory().tensors - before)]).toEqual([name, 0]);
        }
        await gpu.synchronize();
      },
    );
  },
);
