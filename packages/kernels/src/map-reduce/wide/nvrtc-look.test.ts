import { nvrtc } from '@mercer/cuda-runtime';
import { test, expect } from 'vitest';
import { useNvrtc } from '../../../../cuda-runtime/test/find-nvrtc.mjs';
import { H200 } from '../../testing/h200.test.helper.js';
import { assemblerLog } from '../../testing/nvrtc-complaints.test.helper.js';
import { distinctKernels } from '../../named-kernel.js';
import { emitMapReduce } from '../emit.js';
import { planMapReduce } from '../plan.js';
import { wideProblems } from './default-wide.js';
useNvrtc();
test('look', { timeout: 600000 }, async () => {
  expect(nvrtc.isAvailable()).toBe(true);
  const line = 'extern "C" __global__ void one(float* x) { x[threadIdx.x] *= 2.0f; }';
  for (let i = 0; i < 3; i++) { const t = performance.now(); await assemblerLog(line + '//' + i, 'sm_90a'); console.log('one line', performance.now() - t); }
  for (const { name, kernel } of distinctKernels(wideProblems().map((p) => emitMapReduce(planMapReduce(p, H200))))) {
    const t = performance.now();
    const log = await assemblerLog(kernel.source, 'sm_90a');
    console.log(`${(performance.now() - t).toFixed(0)} ms ${name}: ${/Used \d+ registers/.exec(log)} ${/\d+ bytes stack frame, \d+ bytes spill stores/.exec(log)} ${/\d+ bytes smem/.exec(log)} ${log.includes('warning') ? log : ''}`);
  }
});
