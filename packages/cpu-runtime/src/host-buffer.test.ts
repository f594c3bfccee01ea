import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { beforeAll, describe, expect, it } from 'vitest';
import { rawBinding } from './addon.js';
import { cpu } from './cpu.js';
import type { CpuModule } from './cpu-module.js';
import { OutOfMemoryError } from './errors.js';
import { HostBuffer } from './host-buffer.js';
import { loadKernels, pack } from './kernels.test-support.js';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

async function collectUntil(done: () => boolean): Promise<void> {
  for (let i = 0; i < 100 && !done(); i++) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

let kernels: CpuModule;
beforeAll(async () => {
  kernels = await loadKernels();
});

/** Buffers alive when nothing of an earlier test is left. */
async function settledBuffers(): Promise<number> {
  await collectUntil(() => cpu.memory().liveBuffers === 0);
  return cpu.memory().liveBuffers;
}

describe('a host buffer', () => {
  it.each([0, 1, 63, 64, 1000, 1 << 20, (1 << 20) + 1, 5_000_000])(
    'of %i bytes is aligned and zeroed',
    (bytes) => {
      using buffer = { value: cpu.allocate(bytes), [Symbol.dispose]: () => undefined };
      const { address, arrayBuffer, byteOffset } = buffer.value;
      expect(address % 64n).toBe(0n);
      expect(byteOffset).toBe(0);
      expect(arrayBuffer.byteLength).toBe(bytes);
      expect(new Uint8Array(arrayBuffer).every((byte) => byte === 0)).toBe(true);
      if (bytes > 0) expect(cpu.addressOf(arrayBuffer)).toBe(address);
      buffer.value.dispose();
    },
  );

  it('may be larger than 2^32 bytes, and kernels reach its end', async () => {
    const bytes = 2 ** 32 + 4096; // pages that nobody touches cost nothing
    const buffer = cpu.allocate(bytes);
    const last = buffer.address + BigInt(bytes - 8);
    const geometry = { tasks: 1, chunk: 1, scratchBytes: 0 };
    const stream = cpu.createStream();
    kernels.function('addOne').launch(geometry, stream, pack(last), [buffer]);
    const end = new Float64Array((await stream.read(buffer, bytes - 8, 8)).buffer);
    expect(end[0]).toBe(1);
    expect(buffer.bytes).toBe(bytes);
    buffer.dispose();
  });

  it('counts as live until disposed, once', async () => {
    await settledBuffers();
    const before = cpu.memory();
    const buffer = cpu.allocate(12_345);
    expect(cpu.memory()).toEqual({
      liveBytes: before.liveBytes + 12_345,
      liveBuffers: before.liveBuffers + 1,
    });
    const view = buffer.arrayBuffer;
    buffer.dispose();
    buffer.dispose();
    expect(buffer.disposed).toBe(true);
    expect(view.byteLength).toBe(0); // detached: nobody sees freed memory
    expect(cpu.memory()).toEqual(before);
    expect(() => buffer.arrayBuffer).toThrow(expect.objectContaining({ code: 'DISPOSED' }));
  });

  it('is freed only when no enqueued work uses it', async () => {
    const before = await settledBuffers();
    const stream = cpu.createStream();
    const held = cpu.allocate(8 * 1000);
    const counts = new Int32Array(held.arrayBuffer, 0, 1000);
    kernels
      .function('spin')
      .launch({ tasks: 1, chunk: 1, scratchBytes: 0 }, stream, pack(50e6), [counts]);
    kernels
      .function('mark')
      .launch({ tasks: 1000, chunk: 10, scratchBytes: 0 }, stream, pack(held.address), [counts]);
    held.dispose(); // kept through the view, which is detached now
    expect(counts.length).toBe(0);
    expect(cpu.memory().liveBuffers).toBe(before + 1);
    await stream.whenDone();
    await collectUntil(() => cpu.memory().liveBuffers === before);
    expect(cpu.memory().liveBuffers).toBe(before);
  });

  it('is freed by the collector when it is forgotten', async () => {
    const before = await settledBuffers();
    const forget = (view: boolean): void => {
      const buffer = cpu.allocate(1000);
      if (view) new Uint8Array(buffer.arrayBuffer).fill(1);
    };
    for (let i = 0; i < 50; i++) forget(i % 2 === 0);
    expect(cpu.memory().liveBuffers).toBe(before + 50);
    await collectUntil(() => cpu.memory().liveBuffers === before);
    expect(cpu.memory().liveBuffers).toBe(before);
  });

  it('tells the collector about its bytes, and takes them back', () => {
    const told = (): number => rawBinding().stats().externalBytes;
    collect();
    const before = told();
    const buffer = cpu.allocate(100_000_000);
    const near = (bytes: number): void => {
      expect(Math.abs(bytes - 100_000_000)).toBeLessThan(1_000_000); // V8 has small changes of its own
    };
    near(told() - before);
    const counted = process.memoryUsage().arrayBuffers;
    expect(buffer.arrayBuffer.byteLength).toBe(100_000_000); // V8 counts them itself now: not twice
    near(told() - before + process.memoryUsage().arrayBuffers - counted);
    buffer.dispose();
    expect(told() - before).toBeLessThan(1_000_000);
    const plain = cpu.allocate(5000);
    const held = told();
    plain.dispose();
    plain.dispose();
    expect(told() - held).toBe(-5000);
  });

  it('makes pressure that frees forgotten buffers of a loop that yields', async () => {
    await settledBuffers();
    const before = cpu.memory().liveBytes;
    let most = 0;
    for (let i = 0; i < 400; i++) {
      cpu.allocate(16_000_000);
      most = Math.max(most, cpu.memory().liveBytes - before);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(most).toBeLessThan(400 * 16_000_000 * 0.5);
    await collectUntil(() => cpu.memory().liveBytes === before);
  });

  it('says how much was asked for when memory runs out, and works afterwards', async () => {
    await settledBuffers();
    const live = cpu.memory().liveBytes;
    const failing = (): HostBuffer => cpu.allocate(2 ** 52);
    expect(failing).toThrow(OutOfMemoryError);
    expect(failing).toThrow(
      expect.objectContaining({ code: 'OUT_OF_MEMORY', requested: 2 ** 52, live }),
    );
    cpu.allocate(64).dispose();
  });

  it('works inside V8 memory where external buffers are forbidden', async () => {
    const before = await settledBuffers();
    const buffer = new HostBuffer(8000, true);
    expect(buffer.address % 64n).toBe(0n);
    expect(buffer.arrayBuffer.byteLength).toBeGreaterThanOrEqual(8000 + buffer.byteOffset);
    const x = new Float64Array(buffer.arrayBuffer, buffer.byteOffset, 1000);
    const stream = cpu.createStream();
    const geometry = { tasks: 1000, chunk: 100, scratchBytes: 0 };
    kernels.function('addOne').launch(geometry, stream, pack(buffer.address), [buffer]);
    await stream.whenDone();
    expect(x.every((value) => value === 1)).toBe(true);
    // Disposed while in use: the ArrayBuffer stays until the launch is done.
    kernels.function('spin').launch({ ...geometry, tasks: 1 }, stream, pack(20e6), [buffer]);
    kernels.function('addOne').launch(geometry, stream, pack(buffer.address), [buffer]);
    buffer.dispose();
    expect(cpu.memory().liveBuffers).toBe(before + 1);
    await stream.whenDone();
    await collectUntil(() => cpu.memory().liveBuffers === before);
    expect(cpu.memory().liveBuffers).toBe(before);
  });

  it.each([-1, 1.5, Number.NaN, Infinity, 2 ** 53, '8'])('refuses a size of %s', (bytes) => {
    expect(() => cpu.allocate(bytes as number)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    );
  });
});

describe('addressOf', () => {
  it('knows every kind of view, with its offset', () => {
    const buffer = new ArrayBuffer(64);
    const base = cpu.addressOf(buffer);
    expect(cpu.addressOf(new Uint8Array(buffer, 5))).toBe(base + 5n);
    expect(cpu.addressOf(new Float64Array(buffer, 16, 2))).toBe(base + 16n);
    expect(cpu.addressOf(new DataView(buffer, 7))).toBe(base + 7n);
    expect(cpu.addressOf(new Int32Array(new SharedArrayBuffer(16), 4))).toBeTypeOf('bigint');
  });

  it('refuses what can move away under a kernel', () => {
    const detached = new Uint8Array(8);
    structuredClone(detached, { transfer: [detached.buffer] });
    const resizable = new (ArrayBuffer as unknown as new (n: number, o: object) => ArrayBuffer)(8, {
      maxByteLength: 16,
    });
    const bad: unknown[] = [resizable, new Uint8Array(resizable), 5, null, {}, 'x'];
    for (const value of bad) {
      expect(() => cpu.addressOf(value as Uint8Array)).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
      );
    }
    expect(() => rawBinding().addressOfView(null as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    );
  });
});
