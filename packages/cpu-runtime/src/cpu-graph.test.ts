import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { beforeAll, describe, expect, it } from 'vitest';
import { cpu } from './cpu.js';
import type { CpuGraph } from './cpu-graph.js';
import type { CpuFunction, CpuModule } from './cpu-module.js';
import type { CpuStream } from './cpu-stream.js';
import type { HostBuffer } from './host-buffer.js';
import { loadKernels, pack } from './kernels.test-support.js';

let kernels: CpuModule;
let append: CpuFunction;
beforeAll(async () => {
  kernels = await loadKernels();
  append = kernels.function('append', { paramBytes: 24 });
});

const one = { tasks: 1, chunk: 1, scratchBytes: 0 };

/** A log in a buffer: how many entries there are, then those. */
function newLog(entries: number): HostBuffer {
  const log = cpu.allocate(8 * (1 + entries));
  numbers(log).fill(0n);
  return log;
}
const numbers = (log: HostBuffer): BigInt64Array =>
  new BigInt64Array(log.arrayBuffer, log.byteOffset, log.bytes / 8);
const entries = (log: HostBuffer): number[] =>
  [...numbers(log).slice(1, 1 + Number(numbers(log)[0]))].map(Number);

describe('a graph', () => {
  it('runs what was captured, in order, as often as it is enqueued, and not before', async () => {
    const stream = cpu.createStream();
    const log = newLog(100);
    stream.beginCapture();
    expect(stream.capturing).toBe(true);
    for (let i = 0; i < 5; i++) append.launch(one, stream, pack(log.address, i, 1000), [log]);
    append.launch({ ...one, tasks: 3 }, stream, pack(log.address, 9, 0), [log]);
    using graph = stream.endCapture();
    expect([stream.capturing, graph.nodeCount, stream.inFlight]).toEqual([false, 6, 0]);
    await stream.whenDone();
    expect(entries(log)).toEqual([]);
    append.launch(one, stream, pack(log.address, -1, 0), [log]);
    stream.enqueueGraph(graph);
    append.launch(one, stream, pack(log.address, -2, 0), [log]);
    stream.enqueueGraph(graph);
    await stream.whenDone();
    const captured = [0, 1, 2, 3, 4, 9, 9, 9];
    expect(entries(log)).toEqual([-1, ...captured, -2, ...captured]);
    expect(stream.inFlight).toBe(0);
  });

  it('runs on another stream, behind what that waits for', async () => {
    const [first, second] = [cpu.createStream(), cpu.createStream()];
    const log = newLog(10);
    first.beginCapture();
    append.launch(one, first, pack(log.address, 2, 0), [log]);
    using graph = first.endCapture();
    append.launch(one, first, pack(log.address, 1, 20_000), [log]);
    second.wait(first.record());
    second.enqueueGraph(graph);
    await second.whenDone();
    expect(entries(log)).toEqual([1, 2]);
  });

  it('copies what memory holds then, and arrays of JavaScript as they were', async () => {
    const stream = cpu.createStream();
    const [from, to] = [cpu.allocate(16), cpu.allocate(16)];
    const given = Float64Array.of(7);
    stream.beginCapture();
    stream.enqueueCopy(to, 0, from, 0, 8);
    stream.enqueueCopy(to, 8, given, 0, 8);
    using graph = stream.endCapture();
    given[0] = 8;
    for (const value of [1, 2]) {
      new Float64Array(from.arrayBuffer, from.byteOffset, 1)[0] = value;
      stream.enqueueGraph(graph);
      expect([...new Float64Array((await stream.read(to, 0, 16)).buffer)]).toEqual([value, 7]);
    }
  });

  it('keeps its memory and its kernels until it and its launches are gone', async () => {
    const stream = cpu.createStream();
    const module = await loadKernels();
    const fn = module.function('append', { paramBytes: 24 });
    const before = cpu.memory().liveBytes;
    const [log, seen] = [newLog(10), cpu.allocate(88)];
    stream.beginCapture();
    fn.launch(one, stream, pack(log.address, 5, 0), [log]);
    stream.enqueueCopy(seen, 0, log, 0, 88);
    const graph = stream.endCapture();
    log.dispose();
    fn.dispose();
    module.dispose();
    stream.enqueueGraph(graph);
    stream.enqueueGraph(graph);
    graph.dispose();
    await stream.whenDone();
    expect(entries(seen)).toEqual([5, 5]);
    seen.dispose();
    // The launch that ended last goes when its thread is through with it.
    for (let i = 0; i < 100 && cpu.memory().liveBytes > before; i++) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(cpu.memory().liveBytes).toBe(before);
    expect(() => stream.enqueueGraph(graph)).toThrow('the graph was disposed');
  });

  describe('that is repeated', () => {
    const captured = (work: (stream: CpuStream) => void): CpuGraph => {
      const stream = cpu.createStream();
      stream.beginCapture();
      work(stream);
      return stream.endCapture();
    };

    it('has other work between, and counts as one', async () => {
      const stream = cpu.createStream();
      const log = newLog(1000);
      using graph = captured((on) => {
        append.launch({ ...one, tasks: 0 }, on, pack(log.address, 8, 0), [log]);
        append.launch(one, on, pack(log.address, 1, 0), [log]);
        append.launch({ ...one, tasks: 2 }, on, pack(log.address, 2, 0), [log]);
      });
      using between = captured((on) => {
        append.launch(one, on, pack(log.address, 7, 0), [log]);
      });
      stream.enqueueGraph(graph, { times: 3, between });
      stream.enqueueGraph(graph, { times: 2 });
      expect(stream.inFlight).toBeLessThanOrEqual(2);
      append.launch(one, stream, pack(log.address, -1, 0), [log]);
      await stream.whenDone();
      expect(entries(log)).toEqual([1, 2, 2, 7, 1, 2, 2, 7, 1, 2, 2, 1, 2, 2, 1, 2, 2, -1]);
      expect(stream.inFlight).toBe(0);
    });

    it('ends when none of its numbers is 0, NaN among them', async () => {
      const stream = cpu.createStream();
      // what is copied into the numbers, one more entry in each pass
      const script = cpu.allocate(8 * 12);
      const all = new Float64Array(script.arrayBuffer, script.byteOffset, 12);
      all.set([0, 0, 1, 0, NaN, 0, 0, NaN, 3, 4, 0, 0]);
      const seen = cpu.allocate(16);
      const log = newLog(100);
      using graph = captured((on) => {
        append.launch(one, on, pack(log.address, 5, 0), [log]);
        on.enqueueCopy(seen, 0, script, 0, 16);
      });
      using between = captured((on) => {
        on.enqueueCopy(script, 0, script, 16, 80);
      });
      const rests = { address: Number(seen.address), count: 2 };
      stream.enqueueGraph(graph, { times: 1000, between, rests });
      await stream.whenDone();
      expect(entries(log)).toEqual([5, 5, 5, 5, 5]);
    });

    it('ends with the pass under way when it is stopped, and can be repeated again', async () => {
      const stream = cpu.createStream();
      const log = newLog(100_000);
      using graph = captured((on) => {
        append.launch(one, on, pack(log.address, 5, 100_000), [log]);
        append.launch(one, on, pack(log.address, 6, 0), [log]);
      });
      stream.enqueueGraph(graph, { times: 1e9 });
      stream.enqueueGraph(graph, { times: 1e9 });
      graph.stop();
      await stream.whenDone();
      const found = entries(log);
      // the second one had not begun, and does one pass
      expect(found.length).toBeGreaterThanOrEqual(4);
      expect(found.length).toBeLessThan(50_000);
      expect(found.slice(-4)).toEqual([5, 6, 5, 6]);
      numbers(log).fill(0n);
      stream.enqueueGraph(graph, { times: 3 });
      await stream.whenDone();
      expect(entries(log)).toEqual([5, 6, 5, 6, 5, 6]);
    });

    it('runs on all threads where there are tasks for them, beside other streams', async () => {
      const logs = Array.from({ length: 4 }, () => newLog(100_000));
      const streams = logs.map(() => cpu.createStream());
      const graphs = logs.map((log, at) =>
        captured((on) => {
          append.launch({ ...one, tasks: 1 + 3 * at }, on, pack(log.address, at, 0), [log]);
        }),
      );
      for (const [at, stream] of streams.entries()) {
        const graph = graphs[at] as CpuGraph;
        stream.enqueueGraph(graph, { times: 500 });
        graph.dispose();
      }
      await Promise.all(streams.map((stream) => stream.whenDone()));
      expect(logs.map((log) => entries(log).length)).toEqual([500, 2000, 3500, 5000]);
    });

    it('gives way to the end of its environment', async () => {
      const script = `
        const { parentPort } = require('node:worker_threads');
        import(${JSON.stringify(new URL('index.js', import.meta.url).href.replace('/src/', '/dist/'))}).then(({ cpu }) => {
          const stream = cpu.createStream();
          const [from, to] = [cpu.allocate(800), cpu.allocate(800)];
          stream.beginCapture();
          stream.enqueueCopy(to, 0, from, 0, 800);
          stream.enqueueCopy(from, 0, to, 0, 800);
          const graph = stream.endCapture();
          stream.enqueueGraph(graph, { times: 2 ** 50 });
          parentPort.postMessage('enqueued');
          setInterval(() => undefined, 1000);
        });`;
      const worker = new Worker(script, { eval: true });
      await once(worker, 'message');
      expect(await worker.terminate()).toBe(1);
    });
  });

  it('may be empty, and may be dropped unfinished', async () => {
    const stream = cpu.createStream();
    stream.beginCapture();
    using graph = stream.endCapture();
    expect(graph.nodeCount).toBe(0);
    stream.enqueueGraph(graph);
    await stream.whenDone();
    const other = cpu.createStream();
    const log = newLog(1);
    other.beginCapture();
    append.launch(one, other, pack(log.address, 5, 0), [log]);
    other.dispose();
    await stream.whenDone();
    expect(entries(log)).toEqual([]);
  });

  it('refuses what needs work to run', async () => {
    const stream = cpu.createStream();
    const buffer = cpu.allocate(8);
    const event = stream.record();
    const wanted = { code: 'CAPTURING' };
    stream.beginCapture();
    const graph = stream.endCapture();
    stream.beginCapture();
    for (const call of [
      () => stream.beginCapture(),
      () => stream.record(),
      () => stream.wait(event),
      () => void stream.whenDone(),
      () => stream.enqueueGraph(graph),
    ]) {
      expect(call).toThrow(expect.objectContaining(wanted));
    }
    await expect(stream.read(buffer, 0, 8)).rejects.toMatchObject(wanted);
    expect(stream.endCapture().nodeCount).toBe(0);
    expect(() => stream.endCapture()).toThrow('the stream captures nothing');
    expect(() => stream.enqueueGraph({} as never)).toThrow('expected a CpuGraph');
  });
});
