import { describe, expect, test } from 'vitest';
import { nvrtcEnvironment } from '../test/find-nvrtc.mjs';
import { buildFakeDriver, buildFakeNvrtc } from '../test/fake-driver/build.mjs';
import { runScript } from '../test/run-script.mjs';

/** Prints the 99th percentile of how late a 10 ms timer is while `work` runs, and how long that took. */
const measured = (setup: string, work: string): string => `
  ${setup}
  const late = [];
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    late.push(now - last - 10);
    last = now;
  }, 10);
  await new Promise((resolve) => setTimeout(resolve, 50));
  late.length = 0;
  last = performance.now();
  const begin = performance.now();
  ${work}
  const elapsed = performance.now() - begin;
  clearInterval(timer);
  late.sort((a, b) => a - b);
  console.log(JSON.stringify({ p99: late[Math.ceil(late.length * 0.99) - 1] ?? Infinity, max: late.at(-1), ticks: late.length, elapsed }));`;

async function run(setup: string, work: string, env: Record<string, string>): Promise<Measured> {
  const { code, stdout, stderr } = await runScript(measured(setup, work), env);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as Measured;
}
interface Measured {
  p99: number;
  max: number;
  ticks: number;
  elapsed: number;
}

// Retried, because another program may take the processor for 50 ms; a loop that a compile or a kernel blocks fails each time.
describe('a 10 ms timer keeps its 99th percentile below 50 ms', { retry: 3 }, () => {
  test('during a 2 s kernel with copies behind it, frees and disposals', async () => {
    const measurement = await run(
      `const device = mercer.cuda.device(0);
       const stream = device.defaultStream;
       const module = device.loadModule(new TextEncoder().encode('FAKE k()'));
       const buffer = device.allocate(32 << 20, stream);
       const pinned = Array.from({ length: 10 }, () => device.allocatePinned(1 << 20));
       const host = new Uint8Array(32 << 20);`,
      `module.function('k').launch({ grid: [1, 1, 1], block: [1, 1, 1], sharedMemBytes: 0 }, stream, new Uint8Array(0), new Uint32Array(0));
       const done = [stream.copyToHost(host, buffer), stream.copyToDevice(buffer, 0, host), stream.copyToHost(new Uint8Array(1000), buffer)];
       for (const one of pinned) one.dispose();
       module.dispose();
       buffer.free();
       const small = device.allocate(1000, stream);
       small.free();
       const other = device.createStream();
       const loading = device.loadModuleAsync(new TextEncoder().encode('FAKE k()'), ['k']);
       device.allocatePinned(1000).dispose();
       other.memset(device.allocate(10, other), 0, 1, 10);
       await other.whenDone();
       for (let i = 0; i < 40; i++) {
         device.memoryInfo();
         await new Promise((resolve) => setTimeout(resolve, 20));
       }
       if (stream.query()) throw new Error('the kernel was over too soon for this to say anything');
       (await loading).dispose();
       await Promise.all([...done, device.synchronize()]);`,
      { MERCER_CUDA_DRIVER_PATH: await buildFakeDriver(), MERCER_FAKE_KERNEL_US: '2000000' },
    );
    expect(measurement.elapsed).toBeGreaterThan(1900);
    expect(measurement.ticks).toBeGreaterThan(100);
    expect(measurement.p99).toBeLessThan(50);
    expect(measurement.max).toBeLessThan(measurement.elapsed / 2);
  });

  test('during sixteen compiles that keep every compile thread busy', async () => {
    const measurement = await run(
      'mercer.nvrtc.version();',
      `await Promise.all(Array.from({ length: 16 }, (_, i) => mercer.nvrtc.compile({ source: String(i) })));`,
      { MERCER_CUDA_NVRTC_PATH: await buildFakeNvrtc(13), MERCER_FAKE_COMPILE_MS: '500' },
    );
    expect(measurement.elapsed).toBeGreaterThan(490);
    expect(measurement.p99).toBeLessThan(50);
    expect(measurement.max).toBeLessThan(measurement.elapsed / 2);
  });

  const real = nvrtcEnvironment();
  test.skipIf(Object.keys(real).length === 0)(
    'during a real compile of a long program (skipped only where no NVRTC is named or in .nvrtc)',
    async () => {
      const lines = Array.from(
        { length: 500 },
        (_, i) => `x[t + ${i}] = x[t] * ${i}.5f + sqrtf(x[${i} * t]);`,
      );
      const source = `extern "C" __global__ void k(float* x) { int t = threadIdx.x; ${lines.join('\n')} }`;
      const measurement = await run(
        `const source = ${JSON.stringify(source)}; mercer.nvrtc.version();`,
        `await mercer.nvrtc.compile({ source, options: ['--gpu-architecture=sm_90a'] });`,
        real,
      );
      expect(measurement.elapsed).toBeGreaterThan(300);
      expect(measurement.p99).toBeLessThan(50);
      expect(measurement.max).toBeLessThan(measurement.elapsed / 2);
    },
    120_000,
  );
});
