import { existsSync, readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RawBuffer, RawFunction, RawStream } from '../raw-binding.js';
import type { WasmHost } from './helper.js';
import { WasmBinding } from './wasm-binding.js';

/** Without helpers. */
const oneThread: WasmHost = { cores: 1, maySleep: true, startHelper: () => undefined };

const built = new URL('../../build/wasm/mercer_cpu.wasm', import.meta.url);
const isBuilt = existsSync(built);
if (!isBuilt) console.log('WebAssembly is not built here: node scripts/build-wasm.mjs says why');

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const code = (expected: string): unknown => expect.objectContaining({ code: expected });

/** Element types and the rank as native/kernels/kernels.h has them. */
const [FLOAT64, RANK] = [0n, 1n];
const PAGE = 2 ** 16;

describe.skipIf(!isBuilt)('the runtime in WebAssembly', () => {
  let raw: WasmBinding;
  let stream: RawStream;
  beforeEach(() => {
    raw = new WasmBinding(new Uint8Array(readFileSync(built)), oneThread);
    stream = raw.createStream();
  });
  afterEach(() => {
    raw.disposeStream(stream);
    expect(raw.stats(), 'memory that a test left').toMatchObject({ liveBuffers: 0, liveBytes: 0 });
  });

  const numbers = (buffer: RawBuffer, count: number): Float64Array =>
    new Float64Array(raw.linearMemory, Number(raw.addressOfBuffer(buffer)), count);

  /** More than the memory has, so that it must grow. */
  const grow = (): RawBuffer => raw.allocate(raw.linearMemory.byteLength + PAGE);

  const fill = (): [fn: RawFunction, bytes: number] => {
    const found = raw.builtinFunction('fill');
    if (found === undefined) throw new Error('fill is built in');
    return found;
  };

  /** The parameters of a fill of `count` numbers. */
  const filling = (to: RawBuffer, count: number, value: number, bytes: number): Uint8Array => {
    const words = new BigUint64Array(bytes / 8);
    words.set([raw.addressOfBuffer(to), 0n, FLOAT64, RANK, BigInt(count)]);
    new Float64Array(words.buffer)[1] = value;
    words[4 + 8] = 1n; // the stride
    return new Uint8Array(words.buffer);
  };

  it('gives zeroed memory, aligned to 64 bytes, also what was used before', () => {
    for (const bytes of [0, 1, 63, 1000, 100_000]) {
      const buffer = raw.allocate(bytes);
      const address = Number(raw.addressOfBuffer(buffer));
      const view = new Uint8Array(raw.linearMemory, address, bytes);
      expect(address % 64).toBe(0);
      expect(view.every((byte) => byte === 0)).toBe(true);
      view.fill(255);
      raw.disposeBuffer(buffer);
    }
  });

  it('grows: views are detached, and what they showed stays', () => {
    const buffer = raw.allocate(80);
    const before = numbers(buffer, 10).fill(1.5);
    const memory = raw.linearMemory;
    const large = grow();
    expect(before).toHaveLength(0);
    expect(raw.linearMemory).not.toBe(memory);
    expect([...numbers(buffer, 10)]).toEqual(Array.from({ length: 10 }, () => 1.5));
    expect(() => {
      raw.copy(stream, buffer, 0, before, 0, 8, undefined);
    }).toThrow(code('OUT_OF_RANGE'));
    for (const one of [buffer, large]) raw.disposeBuffer(one);
  });

  it('runs captured work where its operands are after the memory has grown', () => {
    const [from, to] = [raw.allocate(80), raw.allocate(80)];
    numbers(from, 10).set([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    raw.beginCapture(stream);
    raw.copy(stream, to, 0, from, 0, 80, undefined);
    raw.copy(stream, to, 16, numbers(to, 10), 0, 64, undefined); // overlaps
    const graph = raw.endCapture(stream);
    const large = grow();
    expect([...numbers(to, 10)]).toEqual(Array.from({ length: 10 }, () => 0));
    raw.launchGraph(stream, graph, 1, undefined, 0, 0);
    expect([...numbers(to, 10)]).toEqual([1, 2, 1, 2, 3, 4, 5, 6, 7, 8]);
    raw.disposeGraph(graph);
    for (const one of [from, to, large]) raw.disposeBuffer(one);
  });

  it('repeats captured work, with other work between, until numbers rest', () => {
    const [a, b] = [raw.allocate(24), raw.allocate(24)];
    const capture = (work: () => void) => {
      raw.beginCapture(stream);
      work();
      return raw.endCapture(stream);
    };
    // a shift to the left: [1, 2, 3] -> [2, 3, 3]
    const work = capture(() => {
      raw.copy(stream, b, 0, a, 8, 16, undefined);
    });
    const between = capture(() => {
      raw.copy(stream, a, 0, b, 0, 16, undefined);
    });
    const address = Number(raw.addressOfBuffer(b));
    const run = (times: number, count: number): number[] => {
      numbers(a, 3).set([1, 0, 3]);
      numbers(b, 3).set([0, 0, 9]);
      raw.launchGraph(stream, work, times, between, address, count);
      return [...numbers(b, 3)];
    };
    expect(run(1, 0)).toEqual([0, 3, 9]);
    expect(run(2, 0)).toEqual([3, 3, 9]);
    expect(run(100, 1)).toEqual([3, 3, 9]);
    numbers(a, 3).set([0, 5, 6]);
    raw.launchGraph(stream, work, 100, between, address, 2);
    expect([...numbers(b, 3)]).toEqual([5, 6, 9]);
    expect(() => {
      raw.stopGraph(work);
    }).not.toThrow();
    for (const one of [work, between]) raw.disposeGraph(one);
    for (const one of [a, b]) raw.disposeBuffer(one);
  });

  it('runs a built-in function, at once or as part of a graph, which keeps what it uses', () => {
    const buffer = raw.allocate(800);
    const [fn, bytes] = fill();
    raw.launch(stream, fn, 1, 1, 0, filling(buffer, 99, 2.5, bytes), [buffer]);
    expect([...numbers(buffer, 100)]).toEqual([...Array.from({ length: 99 }, () => 2.5), 0]);
    raw.beginCapture(stream);
    raw.launch(stream, fn, 1, 1, 0, filling(buffer, 100, 7, bytes), [buffer]);
    const graph = raw.endCapture(stream);
    const address = Number(raw.addressOfBuffer(buffer));
    raw.disposeBuffer(buffer);
    raw.disposeFunction(fn);
    expect(raw.stats().liveBuffers).toBe(1);
    raw.launchGraph(stream, graph, 1, undefined, 0, 0);
    expect(new Float64Array(raw.linearMemory, address, 100).every((one) => one === 7)).toBe(true);
    raw.disposeGraph(graph);
    raw.disposeGraph(graph);
    expect(raw.stats().liveBuffers).toBe(0);
  });

  it('fails by name', async () => {
    const buffer = raw.allocate(64);
    const [fn, bytes] = fill();
    const launch = (params: number, called = fn): void => {
      raw.launch(stream, called, 1, 1, 0, new Uint8Array(params), undefined);
    };
    expect(() => {
      launch(bytes - 8);
    }).toThrow(/takes \d+ bytes of parameters, got \d+/);
    expect(() => {
      launch(8, buffer as unknown as RawFunction);
    }).toThrow(code('INVALID_ARGUMENT'));
    raw.disposeFunction(fn);
    expect(() => {
      launch(bytes);
    }).toThrow(code('DISPOSED'));
    expect(() => raw.builtinFunction('no such')).toThrow(code('SYMBOL_NOT_FOUND'));
    expect(() => raw.makeProgram(Int32Array.of(1), Float64Array.of(), 'x86-64-v2', 0)).toThrow(
      code('UNSUPPORTED_CPU'),
    );
    expect(() => raw.addressOfView(new Uint8Array(8))).toThrow(code('INVALID_ARGUMENT'));
    expect(() => raw.loadImage()).toThrow(code('LOAD_FAILED'));
    expect(() => {
      raw.setThreads(2);
    }).toThrow(code('THREADS_UNAVAILABLE'));
    for (const [to, from, count] of [
      [60, 0, 8],
      [0, 64, 8],
      [0, 0, 65],
    ] as const) {
      expect(() => {
        raw.copy(stream, buffer, to, buffer, from, count, undefined);
      }).toThrow(code('OUT_OF_RANGE'));
    }
    raw.beginCapture(stream);
    expect(() => {
      raw.beginCapture(stream);
    }).toThrow(code('CAPTURING'));
    await expect(raw.whenDone(stream)).rejects.toThrow(code('CAPTURING'));
    raw.disposeGraph(raw.endCapture(stream));
    expect(() => raw.endCapture(stream)).toThrow(code('INVALID_ARGUMENT'));
    raw.disposeBuffer(buffer);
    expect(() => raw.addressOfBuffer(buffer)).toThrow(code('DISPOSED'));
  });

  it('refuses programs that it did not write, as often as they come', () => {
    // The stack of the module, of 1 MiB, is put back after each error.
    for (let i = 0; i < 30_000; i++) {
      const make = (): RawFunction =>
        raw.makeProgram(Int32Array.of(-1, 0, 0, 0), Float64Array.of(1), 'wasm128', 0);
      if (i % 10_000 > 0) {
        try {
          make();
        } catch {
          continue;
        }
      }
      expect(make).toThrow(/making a tile program failed: .+ Pass what @mercer\/kernels/);
    }
    const [fn] = fill();
    raw.disposeFunction(fn);
  });

  it.each([2 ** 32 - 2 * PAGE, 2 ** 32, 2 ** 40])(
    'has no %i bytes, says so, and works afterwards',
    (bytes) => {
      const before = raw.linearMemory.byteLength;
      expect(() => raw.allocate(bytes)).toThrow(code('OUT_OF_MEMORY'));
      expect(() => raw.allocate(bytes)).toThrow(`allocating ${bytes} bytes`);
      expect(raw.stats()).toMatchObject({ liveBuffers: 0, liveBytes: 0 });
      const large = grow();
      expect(raw.linearMemory.byteLength).toBeGreaterThan(before);
      raw.disposeBuffer(large);
    },
  );

  it('says once, where a promise waits, that a launch got no scratch memory', async () => {
    const [fn, bytes] = raw.builtinFunction('scatter_add') ?? [];
    if (fn === undefined) throw new Error('sums of rows by index are built in');
    const words = new BigUint64Array(Number(bytes) / 8);
    words.set([2n ** 29n - 2n ** 13n, 1n], 7); // numbers of a task
    raw.launch(stream, fn, 1, 1, 0, new Uint8Array(words.buffer), undefined);
    await expect(raw.whenDone(stream)).rejects.toThrow(code('OUT_OF_MEMORY'));
    await raw.whenDone(stream);
    raw.disposeFunction(fn);
  });

  it('frees what is forgotten', async () => {
    for (let i = 0; i < 20; i++) raw.allocate(1000);
    expect(raw.stats()).toMatchObject({ liveBuffers: 20, liveBytes: 20_000 });
    for (let i = 0; i < 100 && raw.stats().liveBuffers > 0; i++) {
      collect();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(raw.stats().liveBuffers).toBe(0);
  });
});
