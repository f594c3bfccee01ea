import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as later } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { RawBuffer } from '../raw-binding.js';
import type { WasmHost } from './helper.js';
import { nodeHost } from './node-host.js';
import { WasmBinding } from './wasm-binding.js';

const built = new URL('../../build/wasm/mercer_cpu.wasm', import.meta.url);
const code = (expected: string): unknown => expect.objectContaining({ code: expected });

/** As native/kernels/kernels.h has them. */
const [FLOAT64, RANK] = [0n, 1n];
/** Elements of a task of a fill. */
const TASK = 2 ** 15;
const TASKS = 20;
const LONGEST_MS = 20_000;

describe.skipIf(!existsSync(built))('threads of WebAssembly', () => {
  const load = (host: Partial<WasmHost>): WasmBinding =>
    new WasmBinding(new Uint8Array(readFileSync(built)), { ...nodeHost, ...host });

  /** A launch of a fill in many tasks, of the buffer or of another address. */
  function filling(raw: WasmBinding): (value: number, to: RawBuffer | bigint) => void {
    const found = raw.builtinFunction('fill');
    if (found === undefined) throw new Error('fill is built in');
    const [fn, bytes] = found;
    const stream = raw.createStream();
    return (value, to) => {
      const words = new BigUint64Array(bytes / 8);
      const address = typeof to === 'bigint' ? to : raw.addressOfBuffer(to);
      words.set([address, 0n, FLOAT64, RANK, BigInt(TASKS * TASK)]);
      new Float64Array(words.buffer)[1] = value;
      words[4 + 8] = 1n; // the stride
      raw.launch(stream, fn, TASKS, 1, 0, new Uint8Array(words.buffer), undefined);
    };
  }

  const isFilled = (raw: WasmBinding, buffer: RawBuffer, value: number): boolean =>
    new Float64Array(raw.linearMemory, Number(raw.addressOfBuffer(buffer)), TASKS * TASK).every(
      (one) => one === value,
    );

  /** Launches until helpers have taken part `times` more. */
  async function untilHelped(raw: WasmBinding, launch: () => void, times = 1): Promise<void> {
    const wanted = raw.helpers().helped + times;
    const until = Date.now() + LONGEST_MS;
    while (raw.helpers().helped < wanted && Date.now() < until) {
      launch();
      await later(1);
    }
    expect(raw.helpers().helped).toBeGreaterThanOrEqual(wanted);
  }

  it('take part in what is launched, each task once, from the first launch that has several', async () => {
    const started: unknown[] = [];
    const raw = load({
      cores: 3,
      startHelper: (text, start) => {
        started.push(start);
        nodeHost.startHelper(text, start);
      },
    });
    expect(raw).toMatchObject({ linearMemory: expect.any(SharedArrayBuffer) as unknown });
    expect([raw.threads(), raw.info().cores]).toEqual([3, 3]);
    const buffer = raw.allocate(8 * TASKS * TASK);
    expect(started).toHaveLength(0);
    const fill = filling(raw);
    let value = 0;
    await untilHelped(
      raw,
      () => {
        fill(++value, buffer);
        expect(isFilled(raw, buffer, value)).toBe(true);
      },
      20,
    );
    expect(started).toHaveLength(2);
  });

  it('see memory that has grown, and keep views of what was there before', async () => {
    const raw = load({ cores: 2 });
    const fill = filling(raw);
    const small = raw.allocate(8 * TASKS * TASK);
    await untilHelped(raw, () => {
      fill(1, small);
    });
    const before = new Float64Array(raw.linearMemory, Number(raw.addressOfBuffer(small)), 2);
    const memory = raw.linearMemory;
    raw.allocate(memory.byteLength);
    const large = raw.allocate(8 * TASKS * TASK);
    expect(raw.linearMemory).not.toBe(memory);
    expect(Number(raw.addressOfBuffer(large))).toBeGreaterThan(memory.byteLength);
    await untilHelped(raw, () => {
      fill(2, large);
      expect(isFilled(raw, large, 2)).toBe(true);
    });
    expect([...before]).toEqual([1, 1]);
  });

  it('are as many as the program says', async () => {
    const raw = load({ cores: 2 });
    const fill = filling(raw);
    const buffer = raw.allocate(8 * TASKS * TASK);
    const launch = (): void => {
      fill(3, buffer);
    };
    await untilHelped(raw, launch);
    raw.setThreads(1);
    const { helped } = raw.helpers();
    for (let n = 0; n < 50; n++) launch();
    expect(raw.helpers()).toEqual({ ready: 1, helped });
    raw.suggestThreads(2);
    expect(raw.threads()).toBe(1);
    raw.setThreads(3);
    await untilHelped(raw, launch);
    expect(raw.threads()).toBe(3);
    expect(() => {
      raw.setThreads(129);
    }).toThrow(code('THREADS_UNAVAILABLE'));
  });

  it('a wish counts where the program said nothing', () => {
    const raw = load({ cores: 2 });
    raw.suggestThreads(5);
    expect(raw.threads()).toBe(5);
    raw.suggestThreads(1000);
    expect(raw.threads()).toBe(128);
  });

  it('a launch that reaches beyond the memory is an error, and the next one runs', async () => {
    const raw = load({ cores: 2 });
    const fill = filling(raw);
    const buffer = raw.allocate(8 * TASKS * TASK);
    await untilHelped(raw, () => {
      fill(1, buffer);
    });
    // Whether the caller or a helper meets it first.
    for (let n = 0; n < 5; n++) {
      expect(() => {
        fill(0, BigInt(raw.linearMemory.byteLength));
      }).toThrow(/memory access out of bounds|one of the threads/);
    }
    fill(7, buffer);
    expect(isFilled(raw, buffer, 7)).toBe(true);
  });

  it('that cannot be started leave the work to the caller', () => {
    for (const startHelper of [
      () => undefined,
      () => {
        throw new Error('workers are forbidden');
      },
    ]) {
      const raw = load({ cores: 4, startHelper });
      const buffer = raw.allocate(8 * TASKS * TASK);
      filling(raw)(5, buffer);
      expect(isFilled(raw, buffer, 5)).toBe(true);
      expect(raw.helpers()).toEqual({ ready: 0, helped: 0 });
    }
  });
});
