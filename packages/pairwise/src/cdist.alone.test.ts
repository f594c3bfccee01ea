import { device, scope, tensor, zeros } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { normalValues } from './cdist-reference.test-support.js';
import { cdist } from './index.js';

const cpu = device('cpu');

describe('cdist under load on the CPU', () => {
  it('leaves the event loop free while a long kernel runs', async () => {
    const x = await tensor(normalValues(2500 * 256, 1), {
      shape: [2500, 256],
      dtype: 'float32',
      device: cpu,
    });
    // Compiled beforehand: here only the kernel is under test.
    (await (await cdist(x.slice([0, 600]), x, { p: 1.3 })).ready()).dispose();
    const gaps: number[] = [];
    const kernels: number[] = [];
    let last = performance.now();
    const timer = setInterval(() => {
      const now = performance.now();
      gaps.push(now - last);
      last = now;
    }, 10);
    const started = performance.now();
    while (performance.now() - started < 1500) {
      const begun = performance.now();
      const d = await cdist(x, x, { p: 1.3 });
      await d.ready();
      d.dispose();
      kernels.push(performance.now() - begun);
    }
    clearInterval(timer);
    // A call that waited for its kernel would stop the timer for as long as the kernel runs. Other programs that keep this
    // machine busy delay the timer too, but they stretch the kernel even more.
    expect(gaps.length).toBeGreaterThan(30);
    expect(Math.max(...gaps)).toBeLessThan(Math.min(...kernels) / 2);
  });

  it('does not grow over 10,000 calls', async () => {
    const x = await zeros([32, 8], { dtype: 'float32', device: cpu });
    const call = await cdist.prepare(x, x, { p: 1 });
    const settle = async (count: number): Promise<number> => {
      for (let i = 0; i < count; i++) {
        if (i % 64 === 0) await cpu.defaultStream.room();
        call(x, x).dispose();
      }
      await cpu.synchronize();
      return process.memoryUsage().rss;
    };
    const live = cpu.memory().liveBytes;
    await settle(5_000);
    const before = await settle(2_000);
    const after = await settle(10_000);
    // Less where a collection found tensors of the test before.
    expect(cpu.memory().liveBytes).toBeLessThanOrEqual(live);
    expect((after - before) / 2 ** 20, 'MiB of growth').toBeLessThan(24);
  });

  it('stays bounded in a synchronous loop that never disposes', async () => {
    await scope(async (s) => {
      const x = await s.zeros([512, 4], { dtype: 'float32', device: cpu });
      const call = await cdist.prepare(x, x, { p: 2 });
      const limit = cpu.memoryLimitBytes;
      cpu.memoryLimitBytes = cpu.memory().liveBytes + 64 * 2 ** 20;
      try {
        // 1 MiB each: 1000 of them are sixteen times the limit.
        for (let i = 0; i < 1000; i++) call(x, x);
        expect(cpu.memory().liveBytes).toBeLessThanOrEqual(cpu.memoryLimitBytes);
      } finally {
        cpu.memoryLimitBytes = limit;
      }
    });
  });
});
