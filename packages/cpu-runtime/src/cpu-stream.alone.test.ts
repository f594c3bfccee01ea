import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { cpu } from './cpu.js';
import type { CpuFunction, CpuModule } from './cpu-module.js';
import type { HostBuffer } from './host-buffer.js';
import { loadKernels, pack } from './kernels.test-support.js';

let kernels: CpuModule;
let append: CpuFunction;
let mark: CpuFunction;
let spin: CpuFunction;
beforeAll(async () => {
  kernels = await loadKernels();
  append = kernels.function('append', { paramBytes: 24 });
  mark = kernels.function('mark', { paramBytes: 8 });
  spin = kernels.function('spin', { paramBytes: 8 });
});

const one = { tasks: 1, chunk: 1, scratchBytes: 0 };

function newLog(entries: number): { log: BigInt64Array; address: bigint } {
  const log = new BigInt64Array(1 + entries);
  return { log, address: cpu.addressOf(log) };
}

function entries(log: BigInt64Array): number[] {
  return [...log.slice(1, 1 + Number(log[0]))].map(Number);
}

describe('a stream', () => {
  it('runs launches in order, one after the other', async () => {
    const stream = cpu.createStream();
    const { log, address } = newLog(4 * 200);
    for (let i = 0; i < 200; i++) {
      // Several chunks each: a launch may not begin before every chunk of the one before is done.
      append.launch({ ...one, tasks: 4 }, stream, pack(address, i, (i % 7) * 1000), [log]);
    }
    await stream.whenDone();
    expect(entries(log)).toEqual(Array.from({ length: 800 }, (_, i) => Math.floor(i / 4)));
  });

  it('claims every task exactly once, whatever tasks, chunk and threads', async () => {
    const before = cpu.threads;
    const seen = new Set<number>();
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 5000 }),
        fc.integer({ min: 1, max: 6000 }),
        fc.integer({ min: 1, max: 5 }),
        async (tasks, chunk, threads) => {
          seen.add(threads);
          cpu.setThreads(threads);
          const counts = new Int32Array(tasks + 1);
          const stream = cpu.createStream();
          mark.launch({ tasks, chunk, scratchBytes: 0 }, stream, pack(cpu.addressOf(counts)), [
            counts,
          ]);
          await stream.whenDone();
          expect(counts.slice(0, tasks).every((count) => count === 1)).toBe(true);
          expect(counts[tasks]).toBe(0);
        },
      ),
      { numRuns: 200, seed: 7 },
    );
    cpu.setThreads(before);
    expect(seen.size).toBeGreaterThan(1);
  });

  it('reports what is in flight', async () => {
    const stream = cpu.createStream();
    expect(stream.query()).toBe(true);
    for (let i = 0; i < 3; i++) spin.launch(one, stream, pack(20e6));
    expect(stream.inFlight).toBe(3);
    expect(stream.query()).toBe(false);
    await stream.whenDone();
    expect(stream.inFlight).toBe(0);
    expect(stream.query()).toBe(true);
    await stream.synchronize(); // idle: resolves
  });

  it('settles promises in order, each when the work before it is done', async () => {
    const stream = cpu.createStream();
    const { log, address } = newLog(3);
    const states: string[] = [];
    const promises = [1, 2, 3].map((value) => {
      append.launch(one, stream, pack(address, value, 5e6), [log]);
      return stream.whenDone().then(() => {
        states.push(`${value}:${entries(log).length >= value}`);
      });
    });
    await Promise.all(promises);
    expect(states).toEqual(['1:true', '2:true', '3:true']);
  });

  it('keeps running what was enqueued after dispose', async () => {
    const stream = cpu.createStream();
    const { log, address } = newLog(2);
    append.launch(one, stream, pack(address, 1, 5e6), [log]);
    append.launch(one, stream, pack(address, 2, 0), [log]);
    const done = stream.record();
    stream.dispose();
    stream.dispose();
    await done.synchronize();
    expect(entries(log)).toEqual([1, 2]);
  });

  it('shares the pool evenly with another stream', async () => {
    const [a, b] = [cpu.createStream(), cpu.createStream()];
    const tasks = 100 * cpu.threads;
    const start = performance.now();
    // The first has one long launch, the second the same amount of work in a later launch with other chunks.
    spin.launch({ tasks, chunk: 1, scratchBytes: 0 }, a, pack(2e6));
    spin.launch({ tasks: tasks * 4, chunk: 2, scratchBytes: 0 }, b, pack(5e5));
    const finish = async (stream: typeof a): Promise<number> => {
      await stream.whenDone();
      return performance.now() - start;
    };
    const [timeA, timeB] = await Promise.all([finish(a), finish(b)]);
    // Run one after the other, one would be done in half of the time of the other.
    expect(Math.min(timeA, timeB) / Math.max(timeA, timeB)).toBeGreaterThan(0.75);
  });

  it('lets a short launch through beside a long one', async () => {
    const [long, short] = [cpu.createStream(), cpu.createStream()];
    spin.launch({ tasks: 300 * cpu.threads, chunk: 1, scratchBytes: 0 }, long, pack(2e6));
    await new Promise((resolve) => setTimeout(resolve, 20));
    const start = performance.now();
    spin.launch(one, short, pack(1000));
    await short.whenDone();
    expect(performance.now() - start).toBeLessThan(100);
    expect(long.query()).toBe(false);
    await long.whenDone();
  });
});

describe('events', () => {
  it('make one stream wait for another', async () => {
    const [a, b] = [cpu.createStream(), cpu.createStream()];
    const { log, address } = newLog(3);
    append.launch(one, a, pack(address, 1, 30e6), [log]);
    const event = a.record();
    append.launch(one, a, pack(address, 3, 30e6), [log]);
    b.wait(event);
    append.launch(one, b, pack(address, 2, 0), [log]);
    expect(event.query()).toBe(false);
    await Promise.all([a.whenDone(), b.whenDone()]);
    expect(event.query()).toBe(true);
    expect(entries(log)).toEqual([1, 2, 3]);
  });

  it('pass through a ring of streams in order', async () => {
    const streams = Array.from({ length: 5 }, () => cpu.createStream());
    const { log, address } = newLog(100);
    let previous;
    for (let i = 0; i < 100; i++) {
      const stream = streams[(i * 3) % streams.length] ?? cpu.defaultStream;
      if (previous !== undefined) stream.wait(previous);
      append.launch(one, stream, pack(address, i, i % 4 === 0 ? 200_000 : 0), [log]);
      previous?.dispose();
      previous = stream.record();
    }
    await previous?.synchronize();
    expect(entries(log)).toEqual(Array.from({ length: 100 }, (_, i) => i));
  });

  it('fire at once on an idle stream and measure time', async () => {
    const stream = cpu.createStream();
    const begin = stream.record();
    expect(begin.query()).toBe(true);
    await begin.synchronize();
    spin.launch(one, stream, pack(20e6));
    const end = stream.record();
    expect(() => end.elapsedMs(begin)).toThrow(/has not fired/);
    await end.synchronize();
    expect(end.elapsedMs(begin)).toBeGreaterThanOrEqual(20);
    expect(end.elapsedMs(begin)).toBeLessThan(2000);
  });
});

describe('copies', () => {
  it('run in order with launches', async () => {
    const stream = cpu.createStream();
    const source = Float64Array.from({ length: 500_000 }, (_, i) => i);
    const [middle, target] = [source, source].map(() => cpu.allocate(source.byteLength)) as [
      HostBuffer,
      HostBuffer,
    ];
    const addOne = kernels.function('addOne');
    stream.enqueueCopy(middle, 0, source, 0, source.byteLength);
    addOne.launch(
      { tasks: source.length, chunk: 999, scratchBytes: 0 },
      stream,
      pack(middle.address),
      [middle],
    );
    stream.enqueueCopy(target, 8, middle, 0, source.byteLength - 8);
    const read = stream.read(middle, 16, 8);
    middle.dispose(); // the work enqueued keeps the memory
    await stream.whenDone();
    const result = new Float64Array(target.arrayBuffer, target.byteOffset, source.length);
    expect(result[0]).toBe(0);
    expect(result.slice(1)).toEqual(source.slice(0, -1).map((x) => x + 1));
    expect([...new Float64Array((await read).buffer)]).toEqual([3]);
  });

  it('take the bytes of a source during the call', async () => {
    const stream = cpu.createStream();
    const buffer = cpu.allocate(4_000_000);
    const spin = kernels.function('spin');
    for (const make of [
      (bytes: number) => new ArrayBuffer(bytes),
      (bytes: number) => new SharedArrayBuffer(bytes),
    ]) {
      const source = new Uint8Array(make(4_000_000)).fill(7);
      spin.launch({ tasks: 1, chunk: 1, scratchBytes: 0 }, stream, pack(20e6));
      stream.enqueueCopy(buffer, 0, source, 0, source.length);
      const read = stream.read(buffer, 0, buffer.bytes);
      source.fill(9);
      if (source.buffer instanceof ArrayBuffer) {
        structuredClone(source.buffer, { transfer: [source.buffer] });
      }
      expect(new Set(await read)).toEqual(new Set([7]));
    }
  });

  it('refuse memory of JavaScript as a target, and what is detached', () => {
    const stream = cpu.createStream();
    const buffer = cpu.allocate(64);
    const invalid = expect.objectContaining({ code: 'INVALID_ARGUMENT' }) as Error;
    for (const target of [
      new Uint8Array(64),
      new ArrayBuffer(64),
      new DataView(new ArrayBuffer(64)),
    ]) {
      expect(() => {
        stream.enqueueCopy(target, 0, buffer, 0, 64);
      }).toThrow(invalid);
    }
    const source = new Uint8Array(64);
    structuredClone(source.buffer, { transfer: [source.buffer] });
    expect(() => {
      stream.enqueueCopy(buffer, 0, source, 0, 64);
    }).toThrow(/detached|beyond its end/);
    // a view of a buffer is the buffer
    const view = new Uint8Array(buffer.arrayBuffer, buffer.byteOffset, 8);
    stream.enqueueCopy(view, 0, Float64Array.of(5), 0, 8);
    stream.enqueueCopy(buffer, 8, view, 0, 8);
  });

  it('handle overlap as memmove does', async () => {
    const stream = cpu.createStream();
    for (const [to, from] of [
      [0, 3_000_001],
      [3_000_001, 0],
      [1, 0],
    ] as const) {
      const buffer = cpu.allocate(7_000_000);
      const data = new Uint8Array(buffer.arrayBuffer, buffer.byteOffset, buffer.bytes);
      data.forEach((_, i) => (data[i] = (i * 31) % 251));
      const expected = data.slice().copyWithin(to, from, from + 3_900_000);
      stream.enqueueCopy(data, to, data, from, 3_900_000);
      await stream.whenDone();
      expect(Buffer.compare(data, expected)).toBe(0);
    }
  });

  it('are held to the bounds of both sides', () => {
    const stream = cpu.createStream();
    const [small, large] = [cpu.allocate(8), cpu.allocate(16)];
    expect(() => {
      stream.enqueueCopy(small, 0, large, 0, 9);
    }).toThrow(expect.objectContaining({ code: 'OUT_OF_RANGE' }));
    expect(() => {
      stream.enqueueCopy(large, 0, new Uint8Array(16), 8, 9);
    }).toThrow(expect.objectContaining({ code: 'OUT_OF_RANGE' }));
    expect(() => {
      stream.enqueueCopy(large, 0, small, 1, 8);
    }).toThrow(expect.objectContaining({ code: 'OUT_OF_RANGE' }));
    expect(() => {
      stream.enqueueCopy(large, 2 ** 53 - 1, small, 0, 8);
    }).toThrow(expect.objectContaining({ code: 'OUT_OF_RANGE' }));
    expect(() => {
      stream.enqueueCopy(large, -1, small, 0, 8);
    }).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
    expect(() => {
      stream.enqueueCopy('no' as never, 0, small, 0, 8);
    }).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });
});
