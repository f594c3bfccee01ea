import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cpu } from './cpu.js';
import type { CpuModule } from './cpu-module.js';
import { loadKernels, pack, quantile, source, timerDelays } from './kernels.test-support.js';

const run = promisify(execFile);
const script = (name: string): string => fileURLToPath(new URL(`../test/${name}`, import.meta.url));
const one = { tasks: 1, chunk: 1, scratchBytes: 0 };

let kernels: CpuModule;
let folder: string;
let image: string;
beforeAll(async () => {
  kernels = await loadKernels();
  folder = mkdtempSync(join(tmpdir(), 'mercer-stress-'));
  image = join(folder, 'kernels.so');
  writeFileSync(image, (await cpu.compile({ source, level: cpu.info().level })).binary);
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe('many launches', () => {
  it('run once each and in order, awaited or not', async () => {
    const append = kernels.function('append');
    const stream = cpu.createStream();
    const log = new BigInt64Array(1 + 22_000);
    const address = cpu.addressOf(log);
    let at = 0;
    const launch = (): void => {
      append.launch(one, stream, pack(address, at++, 0), [log]);
    };
    for (let round = 0; round < 20; round++) {
      for (let i = 0; i < 1000; i++) launch();
      await stream.whenDone();
      for (let i = 0; i < 100; i++) {
        launch();
        await stream.whenDone();
      }
    }
    const [count, ...values] = log;
    expect(count).toBe(BigInt(at));
    expect(values.every((value, i) => value === BigInt(i))).toBe(true);
  });

  it('leave no memory behind, awaited or not', async () => {
    const addOne = kernels.function('addOne');
    const stream = cpu.createStream();
    const launches = async (count: number): Promise<void> => {
      for (let i = 0; i < count; i++) {
        const buffer = cpu.allocate(8192);
        const view = new Float64Array(64);
        const params = pack(buffer.address);
        addOne.launch({ tasks: 1024, chunk: 256, scratchBytes: 1024 }, stream, params, [
          buffer,
          view,
        ]);
        stream.enqueueRead(view, buffer, 0);
        stream.record().dispose();
        buffer.dispose();
        if (i % 100 === 99) await stream.whenDone();
      }
      await stream.whenDone();
    };
    const live = cpu.memory();
    await launches(10_000);
    const before = process.memoryUsage().rss;
    for (let i = 0; i < 3; i++) await launches(10_000);
    const growth = process.memoryUsage().rss - before;
    // the last buffer may be let go of just after its work is done
    await expect.poll(() => cpu.memory()).toEqual(live);
    expect(growth).toBeLessThan(24 << 20); // 30,000 buffers of 8 KiB alone would be 240 MB
  });

  it('of a loop that never yields do not pile up what they keep', async () => {
    const noop = kernels.function('noop');
    const stream = cpu.createStream();
    const before = process.memoryUsage();
    for (let i = 0; i < 2000; i++) {
      noop.launch(one, stream, new Uint8Array(0), [new Uint8Array(1_000_000)]);
    }
    const growth = process.memoryUsage().rss - before.rss;
    await stream.whenDone();
    expect(growth).toBeLessThan(1_000_000_000); // of 2 GB
  });
});

/** Milliseconds: other processes may want the same cores. A loop that waits for the work would be late by all of its time. */
const MOST_DELAY = 400;

describe('the event loop', () => {
  it('stays free during a kernel of 2 s on all cores', async () => {
    const stream = cpu.createStream();
    const spin = kernels.function('spin');
    const start = performance.now();
    const delays = await timerDelays(async () => {
      spin.launch({ tasks: 20 * cpu.threads, chunk: 1, scratchBytes: 0 }, stream, pack(100e6));
      await stream.whenDone();
    });
    expect(performance.now() - start).toBeGreaterThan(1900);
    expect(delays.length).toBeGreaterThan(50);
    expect(quantile(delays, 0.99)).toBeLessThan(MOST_DELAY);
  });

  it('stays free during a long compile', async () => {
    const body = Array.from(
      { length: 1500 },
      (_, i) =>
        `extern "C" double f${i}(double x) { double s = 0; for (int i = 0; i < ${i}; ++i) s += x / (s + i); return s; }`,
    ).join('\n');
    const start = performance.now();
    const delays = await timerDelays(() => cpu.compile({ source: body, level: cpu.info().level }));
    expect(performance.now() - start).toBeGreaterThan(500);
    expect(quantile(delays, 0.99)).toBeLessThan(MOST_DELAY);
  });
});

describe('an idle pool', () => {
  it('uses no processor time', async () => {
    const noop = kernels.function('noop');
    noop.launch({ ...one, tasks: 100 }, cpu.defaultStream, new Uint8Array(0));
    await cpu.defaultStream.whenDone();
    await new Promise((resolve) => setTimeout(resolve, 50));
    const before = process.cpuUsage();
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1000).toBeLessThan(100); // ms, of 1000 per spinning thread
  });
});

describe('the end', () => {
  it.each(['main', 'workers only'])(
    'of eight workers in mid-work is clean (loaded by: %s)',
    async (who) => {
      const { stdout } = await run(process.execPath, [script('workers/parent.mjs'), image, who]);
      const result = JSON.parse(stdout) as { slowestMs: number; sum?: number; memory?: object };
      expect(result.slowestMs).toBeLessThan(5000);
      if (who === 'main') {
        expect(result.sum).toBe(100);
        expect(result.memory).toEqual({ liveBytes: 0, liveBuffers: 0 });
      }
    },
  );

  it.each(['exit', 'fall through'])(
    'of the process in mid-work is clean and quick (%s)',
    async (way) => {
      const start = performance.now();
      await run(process.execPath, [script('exit-mid-work.mjs'), image, way]);
      expect(performance.now() - start).toBeLessThan(10_000); // of more than 100 s of work enqueued
    },
  );

  it('comes only after promises that are pending', async () => {
    const { stdout } = await run(process.execPath, [script('exit-mid-work.mjs'), image, 'promise']);
    expect(stdout).toBe('settled');
  });
});
