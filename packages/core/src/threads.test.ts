import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const program = fileURLToPath(new URL('../test/results-by-threads.mjs', import.meta.url));
const wasm = existsSync(new URL('../../cpu-runtime/build/wasm/mercer_cpu.wasm', import.meta.url));
const LONGEST_MS = 60_000;

/** What a program gives that ends by itself: it is killed where it does not. */
async function results(MERCER_CPU: string) {
  const env = { ...process.env, MERCER_CPU, MERCER_CPU_THREADS: '', MERCER_CPU_LEVEL: '' };
  const { stdout } = await promisify(execFile)(process.execPath, [program], {
    env,
    timeout: LONGEST_MS,
  });
  return JSON.parse(stdout) as { hashes: Record<string, string[]>; helped: number; level: string };
}

describe('one, two and three threads give the same bits', () => {
  it('interpreted', { timeout: LONGEST_MS }, async () => {
    const { hashes } = await results('interpreted');
    expect(Object.keys(hashes).length).toBeGreaterThan(30);
    for (const [name, ofThreads] of Object.entries(hashes))
      expect(new Set(ofThreads).size, name).toBe(1);
  });

  it.skipIf(!wasm)('in WebAssembly, whose helpers take part', { timeout: LONGEST_MS }, async () => {
    const { hashes, helped, level } = await results('wasm');
    expect(level).toBe('wasm128');
    expect(helped).toBeGreaterThan(10);
    for (const [name, ofThreads] of Object.entries(hashes))
      expect(new Set(ofThreads).size, name).toBe(1);
  });
});
