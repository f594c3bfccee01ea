import { setTimeout } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../test/memory-kept.mjs';
import { empty, full, tensor, zeros } from '../create.js';
import type { Device, LoadedKernel } from '../device.js';
import { MercerError } from '../mercer-error.js';
import { startProfile } from '../profiler.js';
import { timeSpan } from '../time-span.js';
import { LAUNCH_LIMIT } from '../stream-core.js';
import type { Tensor } from '../tensor.js';
import { incrementKernel } from './increment-kernel.test-support.js';

/** The error that `work` throws or rejects with, as its code. */
export async function codeOf(work: () => unknown): Promise<string> {
  try {
    await work();
  } catch (error) {
    if (error instanceof MercerError) return error.code;
    throw error;
  }
  return 'no error';
}

/** Streams, order, lifetimes and memory of one device; holds on the CPU, on GPUs and on the fake driver. */
export function deviceSuite(name: string, getDevice: () => Device): void {
  describe(name, () => {
    let device: Device;
    let increment: LoadedKernel;
    const bytes = (n: number, stream?: Device['defaultStream']): Promise<Tensor<'uint8'>> =>
      full([n], 0, { dtype: 'uint8', device, stream });
    const launch = (t: Tensor<'uint8'>, stream = device.defaultStream): void => {
      increment.launch(stream, { pointers: [t], scalars: { n: t.size } });
    };

    beforeAll(async () => {
      device = getDevice();
      increment = await device.load(incrementKernel(device.kind));
    });

    it('moves data of every size there and back', async () => {
      for (const n of [0, 1, 1000, 2 ** 20, 2 ** 20 + 1, 5_000_001]) {
        const data = Uint8Array.from({ length: n }, (_, i) => (i * 31) & 255);
        const t = await tensor(data, { device });
        data.fill(0); // the tensor has its own copy by now
        const back = await t.toTypedArray();
        expect(back.length).toBe(n);
        expect(back.every((x, i) => x === ((i * 31) & 255))).toBe(true);
        t.dispose();
      }
    });

    it('starts from zeros', async () => {
      for (const n of [10, 3_000_000]) {
        const dirty = await full([n], 255, { dtype: 'uint8', device });
        dirty.dispose();
        const clean = await zeros([n], { dtype: 'uint8', device });
        expect((await clean.toTypedArray()).every((x) => x === 0)).toBe(true);
        clean.dispose();
      }
    });

    it('loads a kernel once, however often it is asked for', async () => {
      expect(await device.load(incrementKernel(device.kind))).toBe(increment);
      const other = await device.load({ ...incrementKernel(device.kind), name: 'other' });
      expect(other).not.toBe(increment);
      expect(other.kernel.name).toBe('other');
    });

    it('loads several kernels at once, and tells how far it is', async () => {
      const base = incrementKernel(device.kind);
      const kernels = [0, 1, 2].map((i) => ({
        ...base,
        name: `increment ${i}`,
        source: `${base.source}\n// ${i}\n`,
      }));
      const steps: string[] = [];
      const loaded = await device.loadAll(kernels, {
        onProgress: ({ done, total }) => steps.push(`${done}/${total}`),
      });
      expect(loaded.map(({ kernel }) => kernel)).toEqual(kernels);
      expect(steps).toEqual(['1/3', '2/3', '3/3']);
      const t = await bytes(1000);
      for (const one of loaded) {
        one.launch(device.defaultStream, { pointers: [t], scalars: { n: 1000 } });
      }
      expect((await t.toTypedArray()).every((x) => x === 3)).toBe(true);
      t.dispose();
      expect(await device.loadAll([])).toEqual([]);
      const other = incrementKernel(device.kind === 'cpu' ? 'cuda' : 'cpu');
      expect(await codeOf(() => device.loadAll([base, other]))).toBe('DEVICE_MISMATCH');
      const broken = { ...base, source: 'no program at all' };
      await expect(device.loadAll([base, broken])).rejects.toThrow();
    });

    it('runs launches of one stream in order', async () => {
      const t = await bytes(100_000);
      for (let i = 0; i < 50; i++) launch(t);
      expect((await t.toTypedArray()).every((x) => x === 50)).toBe(true);
      t.dispose();
    });

    it('orders work on several streams by the tensors it touches', async () => {
      const streams = [device.defaultStream, device.createStream(), device.createStream()];
      const t = await bytes(200_000);
      for (let i = 0; i < 90; i++) launch(t, streams[i % 3]);
      const copies = await Promise.all(streams.map((stream) => t.clone({ stream })));
      for (const stream of streams) launch(t, stream); // a write after reads elsewhere waits for them
      for (const copy of copies) {
        expect((await copy.toTypedArray()).every((x) => x === 90)).toBe(true);
        copy.dispose();
      }
      expect((await t.toTypedArray({ stream: streams[2] })).every((x) => x === 93)).toBe(true);
      t.dispose();
      for (const stream of streams.slice(1)) stream.dispose();
    });

    it('returns memory in the order of the streams that used it', async () => {
      const streams = [device.createStream(), device.createStream()];
      const kept = await memoryKept(device, async () => {
        for (let i = 0; i < 60; i++) {
          const t = await bytes(300_000, streams[0]);
          launch(t, streams[0]);
          launch(t, streams[1]);
          const copy = await t.clone({ stream: streams[1] });
          t.dispose(); // both streams may still be at work on it
          const next = await full([300_000], 9, { dtype: 'uint8', device, stream: streams[i % 2] });
          next.dispose();
          expect((await copy.toTypedArray({ stream: streams[1] })).every((x) => x === 2)).toBe(
            true,
          );
          copy.dispose();
        }
      });
      expect(kept).toEqual(NOTHING);
      for (const stream of streams) stream.dispose();
    });

    it('works on tensors whose last stream was disposed', async () => {
      const stream = device.createStream();
      const t = await bytes(100_000, stream);
      launch(t, stream);
      stream.dispose();
      stream.dispose();
      expect(
        await codeOf(() => {
          launch(t, stream);
        }),
      ).toBe('DISPOSED');
      expect(await t.ready()).toBe(t);
      expect((await t.toTypedArray()).every((x) => x === 1)).toBe(true);
      t.dispose();
    });

    it('bounds the launches in flight', async () => {
      const stream = device.createStream();
      const t = await bytes(1_000_000, stream);
      let most = 0;
      for (let i = 0; i < 4 * LAUNCH_LIMIT; i++) {
        launch(t, stream);
        most = Math.max(most, stream.inFlight);
      }
      // The runtime's count may run up to 32 behind.
      expect(most).toBeLessThanOrEqual(LAUNCH_LIMIT + 32);
      await stream.synchronize();
      let turns = 0;
      const timer = setInterval(() => turns++, 1);
      const begin = performance.now();
      for (let i = 0; i < 4 * LAUNCH_LIMIT; i++) {
        await stream.room();
        launch(t, stream);
      }
      await stream.synchronize();
      const elapsed = performance.now() - begin;
      clearInterval(timer);
      // 2048 increments of 1 MB took this long; with room() the event loop went on turning meanwhile.
      if (elapsed > 200) expect(turns).toBeGreaterThan(10);
      expect((await t.toTypedArray()).every((x) => x === ((8 * LAUNCH_LIMIT) & 255))).toBe(true);
      t.dispose();
      stream.dispose();
    });

    it('resolves before the work is done', async () => {
      // of a large GPU the 50 launches take milliseconds too
      const share = device.kind === 'cuda' ? Math.ceil(device.memory().totalBytes / 1000) : 0;
      const t = await bytes(Math.max(20_000_000, share));
      (await t.clone()).dispose();
      await device.synchronize();
      for (let i = 0; i < 50; i++) launch(t);
      const copy = await t.clone();
      expect(device.defaultStream.inFlight).toBeGreaterThan(0);
      const values = await copy.toTypedArray();
      expect(values.every((x) => x === 50)).toBe(true);
      t.dispose();
      copy.dispose();
    });

    it('refuses arguments that do not fit the kernel', async () => {
      const t = await bytes(10);
      const stream = device.defaultStream;
      const floats = empty([10], { device });
      const cases: [string, () => void][] = [
        [
          'DTYPE_MISMATCH',
          () => {
            increment.launch(stream, { pointers: [floats], scalars: { n: 1 } });
          },
        ],
        [
          'INVALID_ARGUMENT',
          () => {
            increment.launch(stream, { pointers: [], scalars: { n: 1 } });
          },
        ],
        [
          'INVALID_ARGUMENT',
          () => {
            increment.launch(stream, { pointers: [t], scalars: {} });
          },
        ],
        [
          'INVALID_ARGUMENT',
          () => {
            increment.launch(stream, { pointers: [t], scalars: { n: 1.5 } });
          },
        ],
        [
          'INVALID_ARGUMENT',
          () => {
            increment.launch(stream, { pointers: [t], scalars: { n: 2 ** 60 } });
          },
        ],
        [
          'INVALID_ARGUMENT',
          () => {
            increment.launch(stream, { pointers: ['t' as never], scalars: { n: 1 } });
          },
        ],
        [
          'INVALID_ARGUMENT',
          () => {
            increment.launch({} as never, { pointers: [t], scalars: { n: 1 } });
          },
        ],
      ];
      for (const [code, work] of cases) expect(await codeOf(work)).toBe(code);
      const wrong = { ...incrementKernel(device.kind === 'cpu' ? 'cuda' : 'cpu') };
      expect(await codeOf(() => device.load(wrong))).toBe('DEVICE_MISMATCH');
      expect(Array.from(await t.toTypedArray())).toEqual(new Array(10).fill(0));
      t.dispose();
      expect(
        await codeOf(() => {
          launch(t);
        }),
      ).toBe('DISPOSED');
      floats.dispose();
    });

    it('takes storages and bare addresses as pointers', async () => {
      const t = await bytes(64);
      const part = t.slice([16, 48]);
      launch(part);
      increment.launch(device.defaultStream, { pointers: [t.storage], scalars: { n: 8 } });
      const address = BigInt(t.storage.address) + 60n;
      increment.launch(device.defaultStream, { pointers: [address], scalars: { n: 4 } });
      const expected = Uint8Array.from({ length: 64 }, (_, i) =>
        (i >= 16 && i < 48) || i < 8 || i >= 60 ? 1 : 0,
      );
      expect(await t.toTypedArray()).toEqual(expected);
      part.dispose();
      t.dispose();
    });

    it('takes scalars as they are at each launch', async () => {
      const t = await bytes(8);
      const scalars = { n: 3 };
      const args = { pointers: [t], scalars };
      increment.launch(device.defaultStream, args);
      scalars.n = 8;
      increment.launch(device.defaultStream, args);
      expect(await t.toTypedArray()).toEqual(Uint8Array.of(2, 2, 2, 1, 1, 1, 1, 1));
      t.dispose();
    });

    it('fails cleanly when memory runs out, and goes on', async () => {
      const held = await full([1000], 1, { device });
      const kept = await memoryKept(device, async () => {
        device.memoryLimitBytes = device.memory().liveBytes + 1_000_000;
        try {
          const error = await full([10_000_000], 1, { device }).then(
            () => undefined,
            (reason: unknown) => reason,
          );
          expect(error).toBeInstanceOf(MercerError);
          expect(error).toMatchObject({ code: 'OUT_OF_MEMORY' });
          expect((error as Error).message).toContain('40000000 bytes');
          expect((error as Error).message).toContain('float32 [1000]');
          const small = await full([1000], 2, { device });
          expect((await small.toTypedArray())[999]).toBe(2);
          small.dispose();
        } finally {
          device.memoryLimitBytes = undefined;
        }
      });
      expect(kept).toEqual(NOTHING);
      held.dispose();
    });

    it('stays bounded over 10,000 calls that dispose', async () => {
      const t = await bytes(10_000);
      const kept = await memoryKept(device, async () => {
        for (let i = 0; i < 10_000; i++) {
          const copy = empty([10_000], { dtype: 'uint8', device });
          launch(copy);
          copy.dispose();
          if (i % 100 === 0) await device.defaultStream.room();
        }
        await device.synchronize();
      });
      expect(kept).toEqual(NOTHING);
      t.dispose();
    });

    it('stays bounded in a synchronous loop that never disposes', async () => {
      const before = device.memory();
      const each = 65_536;
      let peak = 0;
      for (let i = 0; i < 20_000; i++) {
        launch(empty([each], { dtype: 'uint8', device }));
        if (i % 64 === 0) peak = Math.max(peak, device.memory().liveBytes - before.liveBytes);
      }
      // 1.3 GB went through; no finaliser ran, because this loop never let go of the thread.
      expect(peak).toBeLessThan(2 ** 28 + before.liveBytes * 2 + each);
      expect(device.memory().leaks - before.leaks).toBeGreaterThan(10_000);
      await device.synchronize();
    });

    it('measures launches while a profile is taken', async () => {
      const t = await bytes(1_000_000);
      const profile = startProfile();
      for (let i = 0; i < 5; i++) launch(t);
      const records = await profile.stop();
      launch(t);
      expect(records.map(({ name }) => name)).toEqual(new Array(5).fill('increment'));
      records.forEach((record, i) => {
        expect(record.device).toBe(device.id);
        expect(record.durationMs).toBeGreaterThanOrEqual(0);
        expect(record.startMs).toBeGreaterThanOrEqual(records[i - 1]?.startMs ?? 0);
        expect(record.cost).toEqual({ bytes: 2_000_000, flops: 1_000_000 });
        expect(record.scalars).toEqual({ n: 1_000_000 });
      });
      expect((await t.toTypedArray()).every((x) => x === 6)).toBe(true);
      t.dispose();
    });

    it('measures what a stream takes for all work of a call', async () => {
      const t = await zeros([1_000_000], { dtype: 'uint8', device });
      const run = (launches: number) => (): void => {
        for (let i = 0; i < launches; i++) launch(t);
      };
      const profile = startProfile();
      const spans = [
        await timeSpan(device.defaultStream, run(1)),
        await timeSpan(device.defaultStream, run(40)),
      ];
      const records = await profile.stop();
      const inside = records.slice(1).reduce((sum, { durationMs }) => sum + durationMs, 0);
      const [one = NaN, many = NaN] = await Promise.all(spans.map((span) => span.milliseconds()));
      expect(one).toBeGreaterThanOrEqual((records[0]?.durationMs ?? NaN) * 0.999);
      expect(many).toBeGreaterThanOrEqual(inside * 0.999);
      expect(await spans[1]?.milliseconds()).toBe(many);
      expect((await t.toTypedArray()).every((x) => x === 41)).toBe(true);
      // the host before the first launch counts
      const late = await timeSpan(device.defaultStream, async () => {
        await setTimeout(50);
        launch(t);
      });
      expect(await late.milliseconds()).toBeGreaterThan(40);
      t.dispose();
      const failing = timeSpan(device.defaultStream, () => Promise.reject(new Error('not today')));
      await expect(failing).rejects.toThrow('not today');
    });
  });
}
