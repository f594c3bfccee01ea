import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as later } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { RawBuffer, RawFunction, RawStream } from '../raw-binding.js';
import type { WasmHost } from './helper.js';
import { nodeHost } from './node-host.js';
import { WasmBinding } from './wasm-binding.js';

const built = new URL('../../build/wasm/mercer_cpu.wasm', import.meta.url);
const code = (expected: string): unknown => expect.objectContaining({ code: expected });

/** As native/kernels/kernels.h has them. */
const [FLOAT64, RANK] = [0n, 1n];
const NUMBERS = 2 ** 20;

describe.skipIf(!existsSync(built))('threads of WebAssembly', () => {
  const load = (host: Partial<WasmHost>): WasmBinding =>
    new WasmBinding(new Uint8Array(readFileSync(built)), { ...nodeHost, ...host });

  /** Launches of a fill, in many tasks. */
  function filler(raw: WasmBinding) {
    const found = raw.builtinFunction('fill');
    if (found === undefined) throw new Error('fill is built in');
    const [fn, bytes] = found;
    const stream = raw.createStream();
    return {
      stream,
      fill: (address: bigint, value: number) => {
        const words = new BigUint64Array(bytes / 8);
        words.set([address, 0n, FLOAT64, RANK, BigInt(NUMBERS)]);
        new Float64Array(words.buffer)[1] = value;
        words[4 + 8] = 1n; // the stride
        raw.launch(stream, fn, TASKS, 1, 0, new Uint8Array(words.buffer), undefined);
      },
    };
  }
});
