import { readdirSync, readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { rawBinding } from './addon.js';
import { cpu } from './cpu.js';
import { CpuFunction, CpuModule } from './cpu-module.js';
import { CpuRuntimeError } from './errors.js';
import { loadKernels, pack, source } from './kernels.test-support.js';

const code = (expected: string): unknown => expect.objectContaining({ code: expected });
const one = { tasks: 1, chunk: 1, scratchBytes: 0 };
const none = new Uint8Array(0);

let image: Uint8Array;
let kernels: CpuModule;
beforeAll(async () => {
  kernels = await loadKernels();
  image = (await cpu.compile({ source, level: cpu.info().level })).binary;
});

describe('loading', () => {
  it('refuses what is not a shared object for this machine', () => {
    const wrongMachine = image.slice();
    wrongMachine[18] = 3; // i386
    const notShared = image.slice();
    notShared[16] = 1; // relocatable
    for (const bad of [none, new Uint8Array(10), new Uint8Array(5000), wrongMachine, notShared]) {
      expect(() => cpu.loadModule(bad)).toThrow(code('LOAD_FAILED'));
    }
    expect(() => cpu.loadModule('text' as never)).toThrow(code('INVALID_ARGUMENT'));
    expect(() => cpu.loadModule(undefined as never)).toThrow(code('INVALID_ARGUMENT'));
  });

  it('refuses a file cut anywhere, and survives it', () => {
    for (let length = 0; length < image.length; length += 97) {
      expect(() => cpu.loadModule(image.slice(0, length))).toThrow(code('LOAD_FAILED'));
    }
    expect(cpu.loadModule(image)).toBeInstanceOf(CpuModule);
  });

  it('keeps modules apart although they are alike', async () => {
    const results = new Float64Array(12);
    const modules = [];
    for (const i of results.keys()) {
      const text = `#include <stdint.h>
        extern "C" void put(const void* raw, int64_t, int64_t, void*) { **static_cast<double* const*>(raw) = ${i}; }`;
      const { binary } = await cpu.compile({
        source: text,
        level: cpu.info().level,
        options: ['-O0'],
      });
      modules.push(cpu.loadModule(binary));
    }
    modules.forEach((module, i) => {
      const address = cpu.addressOf(results) + BigInt(8 * i);
      module.function('put').launch(one, cpu.defaultStream, pack(address), [results]);
    });
    await cpu.defaultStream.whenDone();
    expect([...results]).toEqual(Array.from(results.keys()));
  });

  it('needs no descriptor that stays open and no file', () => {
    const count = (): number => readdirSync('/proc/self/fd').length;
    const before = count();
    const modules = Array.from({ length: 20 }, () => cpu.loadModule(image));
    expect(count()).toBe(before);
    expect(readFileSync('/proc/self/maps', 'utf8')).toContain('memfd:mercer-kernel');
    for (const module of modules) module.dispose();
  });

  it('unmaps a module when handle, functions and launches are gone', async () => {
    const mapped = (): Set<string | undefined> =>
      new Set(
        readFileSync('/proc/self/maps', 'utf8')
          .split('\n')
          .filter((line) => line.includes('memfd:mercer-kernel'))
          .map((line) => line.split(/\s+/)[4]),
      );
    const before = mapped();
    const module = cpu.loadModule(image);
    // Modules of earlier tests may go at any time: only this one is looked at.
    const own = [...mapped()].filter((inode) => !before.has(inode));
    expect(own).toHaveLength(1);
    const isMapped = (): boolean => mapped().has(own[0]);
    const spin = module.function('spin');
    module.dispose();
    expect(isMapped()).toBe(true); // the function keeps it
    const stream = cpu.createStream();
    spin.launch(one, stream, pack(30e6));
    spin.dispose();
    expect(isMapped()).toBe(true); // the launch keeps it
    await stream.whenDone();
    await expect.poll(isMapped).toBe(false);
  });
});

describe('misuse', () => {
  it('names a kernel that is not there', () => {
    expect(() => kernels.function('nothing')).toThrow(code('SYMBOL_NOT_FOUND'));
    expect(() => kernels.function('nothing')).toThrow(/"nothing"/);
    for (const bad of ['', 'a b', 'a\0b', 7, undefined, '1x']) {
      expect(() => kernels.function(bad as string)).toThrow(code('INVALID_ARGUMENT'));
    }
  });

  it('refuses bad geometry', () => {
    const noop = kernels.function('noop');
    const stream = cpu.createStream();
    const bad = [
      { ...one, tasks: -1 },
      { ...one, tasks: 1.5 },
      { ...one, tasks: Number.NaN },
      { ...one, tasks: 2 ** 53 },
      { ...one, tasks: '3' as never },
      { ...one, chunk: 0 },
      { ...one, chunk: -1 },
      { ...one, chunk: Infinity },
      { ...one, scratchBytes: -64 },
      { ...one, scratchBytes: undefined as never },
    ];
    for (const geometry of bad) {
      expect(() => {
        noop.launch(geometry, stream, none);
      }).toThrow(code('INVALID_ARGUMENT'));
    }
    expect(stream.inFlight).toBe(0);
  });

  it('accepts no tasks, and a chunk beyond the tasks', async () => {
    const stream = cpu.createStream();
    const counts = new Int32Array(3);
    const mark = kernels.function('mark');
    const params = pack(cpu.addressOf(counts));
    mark.launch({ tasks: 0, chunk: 1, scratchBytes: 0 }, stream, params, [counts]);
    expect(stream.query()).toBe(true);
    mark.launch({ tasks: 3, chunk: Number.MAX_SAFE_INTEGER, scratchBytes: 0 }, stream, params, [
      counts,
    ]);
    await stream.whenDone();
    expect([...counts]).toEqual([1, 1, 1]);
  });

  it('holds parameters to the size that was declared', () => {
    const mark = kernels.function('mark', { paramBytes: 8 });
    for (const bad of [none, new Uint8Array(7), new Uint8Array(16)]) {
      expect(() => {
        mark.launch(one, cpu.defaultStream, bad);
      }).toThrow(code('INVALID_ARGUMENT'));
    }
    const noop = kernels.function('noop');
    expect(() => {
      noop.launch(one, cpu.defaultStream, [1, 2] as never);
    }).toThrow(code('INVALID_ARGUMENT'));
  });

  it('copies parameters of any size at the launch', async () => {
    const { binary } = await cpu.compile({
      source: `#include <stdint.h>
        struct Args { int64_t* sum; int64_t n; int64_t x[1000]; };
        extern "C" void sum(const void* raw, int64_t, int64_t, void*) {
          const Args& args = *static_cast<const Args*>(raw);
          int64_t sum = 0;
          for (int64_t i = 0; i < args.n; ++i) sum += args.x[i];
          *args.sum = (reinterpret_cast<uint64_t>(raw) % 64 == 0) ? sum : -1;
        }`,
      level: cpu.info().level,
    });
    const sum = cpu.loadModule(binary).function('sum');
    for (const n of [0, 10, 22, 23, 1000]) {
      const result = new BigInt64Array(1);
      const params = pack(cpu.addressOf(result), n, ...Array.from({ length: n }, (_, i) => i));
      sum.launch(one, cpu.defaultStream, params, [result]);
      params.fill(0xff); // too late to matter
      await cpu.defaultStream.whenDone();
      expect(result[0]).toBe(BigInt((n * (n - 1)) / 2));
    }
  });

  it('refuses disposed objects by name', () => {
    const stream = cpu.createStream();
    const event = stream.record();
    const buffer = cpu.allocate(8);
    const module = cpu.loadModule(image);
    const noop = kernels.function('noop');
    const disposed = kernels.function('noop');
    for (const object of [stream, event, buffer, module, disposed]) object.dispose();
    const calls: (() => unknown)[] = [
      () => stream.inFlight,
      () => stream.query(),
      () => stream.record(),
      () => stream.whenDone(),
      () => event.query(),
      () => event.synchronize(),
      () => module.function('noop'),
      () => {
        noop.launch(one, stream, none);
      },
      () => {
        noop.launch(one, cpu.defaultStream, none, [buffer]);
      },
      () => {
        disposed.launch(one, cpu.defaultStream, none);
      },
      () => {
        cpu.defaultStream.wait(event);
      },
      () => {
        cpu.defaultStream.enqueueCopy(buffer, 0, buffer, 0, 8);
      },
    ];
    for (const call of calls) expect(call).toThrow(code('DISPOSED'));
  });

  it('refuses objects of the wrong kind, on every rung', () => {
    const noop = kernels.function('noop');
    const stream = cpu.createStream();
    for (const bad of [undefined, null, {}, 5, noop]) {
      expect(() => {
        noop.launch(one, bad as never, none);
      }).toThrow(code('INVALID_ARGUMENT'));
      expect(() => {
        stream.wait(bad as never);
      }).toThrow(code('INVALID_ARGUMENT'));
      expect(() => rawBinding().whenDone(bad as never)).toThrow(code('INVALID_ARGUMENT'));
    }
    expect(() => rawBinding().queryEvent(stream.raw as never)).toThrow(code('INVALID_ARGUMENT'));
    expect(() => (rawBinding().launch as () => void)()).toThrow(code('INVALID_ARGUMENT'));
    expect(() => {
      noop.launch(one, stream, none, [5 as never]);
    }).toThrow(code('INVALID_ARGUMENT'));
    expect(() => new CpuFunction(5 as never, 'x', undefined).launch(one, stream, none)).toThrow(
      CpuRuntimeError,
    );
  });
});

describe('scratch memory', () => {
  it('is aligned, large enough, and one per thread', async () => {
    const kernel = kernels.function('scratchAddress', { paramBytes: 24 });
    for (const bytes of [1, 64, 100_000, 30_000_000, 64]) {
      const addresses = new BigUint64Array(64);
      const params = pack(cpu.addressOf(addresses), bytes, 200_000);
      kernel.launch({ tasks: 64, chunk: 1, scratchBytes: bytes }, cpu.defaultStream, params, [
        addresses,
      ]);
      await cpu.defaultStream.whenDone();
      expect(addresses.every((address) => address !== 0n && address % 64n === 0n)).toBe(true);
      expect(new Set(addresses).size).toBeLessThanOrEqual(cpu.threads);
    }
  });

  it('that cannot be had rejects the next promise of its stream, once', async () => {
    const [stream, other] = [cpu.createStream(), cpu.createStream()];
    const noop = kernels.function('noop');
    noop.launch({ ...one, tasks: 100, scratchBytes: 2 ** 50 }, stream, none);
    const [outcome] = await Promise.allSettled([stream.whenDone(), other.whenDone()]);
    expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'OUT_OF_MEMORY' } });
    await stream.whenDone();
    noop.launch({ ...one, scratchBytes: 2 ** 50 }, stream, none);
    await new Promise((resolve) => setTimeout(resolve, 50)); // idle by now: the promise still carries it
    await expect(stream.whenDone()).rejects.toMatchObject({ code: 'OUT_OF_MEMORY' });
    noop.launch(one, stream, none);
    await stream.whenDone();
  });
});

describe('the pool', () => {
  it('uses few threads for few tasks', async () => {
    const kernel = kernels.function('scratchAddress', { paramBytes: 24 });
    const before = cpu.threads;
    cpu.setThreads(8);
    const addresses = new BigUint64Array(2);
    kernel.launch(
      { tasks: 2, chunk: 2, scratchBytes: 64 },
      cpu.defaultStream,
      pack(cpu.addressOf(addresses), 64, 1e6),
      [addresses],
    );
    await cpu.defaultStream.whenDone();
    expect(addresses[0]).toBe(addresses[1]);
    cpu.setThreads(before);
  });

  it('grows and shrinks while work runs', async () => {
    const before = cpu.threads;
    const mark = kernels.function('mark');
    const counts = new Int32Array(1000);
    for (const threads of [1, 7, 3, 16, 1, 2, 32, before]) {
      mark.launch(
        { tasks: 1000, chunk: 3, scratchBytes: 0 },
        cpu.defaultStream,
        pack(cpu.addressOf(counts)),
        [counts],
      );
      cpu.setThreads(threads);
      expect(cpu.threads).toBe(threads);
    }
    await cpu.defaultStream.whenDone();
    expect(counts.every((count) => count === 8)).toBe(true);
    for (const bad of [0, -1, 1.5, Number.NaN, 1025]) {
      expect(() => {
        cpu.setThreads(bad);
      }).toThrow(code('INVALID_ARGUMENT'));
    }
  });
});
