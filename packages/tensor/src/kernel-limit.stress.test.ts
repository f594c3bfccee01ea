import { readFileSync } from 'node:fs';
import type { CpuKernel } from '@mercer/kernels';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { device, empty, type Tensor } from './index.js';

const cpu = device('cpu');
const LIMIT = 4;
/** More than may stay mapped, which is four times the limit; each is compiled. */
const KERNELS = process.env['MERCER_TEST_FULL'] === '1' ? 240 : 24;
let limitBefore: number;

beforeAll(() => {
  limitBefore = cpu.kernelLimit;
  cpu.kernelLimit = LIMIT;
});
afterAll(() => {
  cpu.kernelLimit = limitBefore;
});

/** A kernel that writes one number. */
function writing(value: number): CpuKernel {
  return {
    dialect: 'cpu',
    name: `writes ${value}`,
    entry: 'write_it',
    options: [],
    source: `#include <stdint.h>
extern "C" void write_it(const void* args, int64_t, int64_t, void*) { **(float* const*)args = ${value}; }
`,
    params: [{ kind: 'pointer', name: 'out', dtype: 'float32', access: 'write' }],
    geometry: () => ({ tasks: 1, chunk: 1, scratchBytes: 0 }),
  };
}

/** Images that are mapped into this process. */
const images = (): number =>
  readFileSync('/proc/self/maps', 'utf8').match(/r-xp .*mercer-kernel/g)?.length ?? 0;

async function written(kernel: CpuKernel, out: Tensor<'float32'>): Promise<unknown> {
  const loaded = await cpu.load(kernel);
  loaded.launch(cpu.defaultStream, { pointers: [out], scalars: {} });
  return out.toNested();
}

describe.runIf(process.platform === 'linux')('kernels beyond the limit of a device', () => {
  it('are unloaded, the ones that are held stay, and all compute the same when they are loaded again', async () => {
    const out = empty([1], { dtype: 'float32', device: cpu });
    const held = await cpu.load(writing(0));
    let most = 0;
    for (let n = 0; n < KERNELS; n++) {
      expect(await written(writing(n), out)).toEqual([n]);
      // finalisers of images run between tasks
      await new Promise((resolve) => setImmediate(resolve));
      most = Math.max(most, images());
    }
    // what is remembered, as much garbage, what is held, and the kernels of other parts of this process
    expect(most).toBeLessThanOrEqual(4 * LIMIT);
    held.launch(cpu.defaultStream, { pointers: [out], scalars: {} });
    expect(await out.toNested()).toEqual([0]);
    for (const n of [1, KERNELS / 2, KERNELS - 1])
      expect(await written(writing(n), out)).toEqual([n]);
  }, 120_000);

  it('are unloaded behind the launches that were enqueued of them', async () => {
    const outs: Tensor<'float32'>[] = [];
    for (let n = 0; n < 4 * LIMIT; n++) {
      const out = empty([1], { dtype: 'float32', device: cpu });
      const loaded = await cpu.load(writing(1000 + n));
      loaded.launch(cpu.defaultStream, { pointers: [out], scalars: {} });
      outs.push(out);
    }
    for (const [n, out] of outs.entries()) expect(await out.toNested()).toEqual([1000 + n]);
  });
});
