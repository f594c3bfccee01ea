import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const run = promisify(execFile);
const script = fileURLToPath(new URL('../test/end-workers.mjs', import.meta.url));
const whole = process.env['MERCER_TEST_FULL'] === '1';
const workers = whole ? 1000 : 10;
const timeout = whole ? 1_800_000 : 90_000;

let store: string;
let temporary: string;
beforeAll(() => {
  store = mkdtempSync(join(tmpdir(), 'mercer-ended-'));
  temporary = mkdtempSync(join(tmpdir(), 'mercer-ended-'));
});
afterAll(() => {
  for (const folder of [store, temporary]) rmSync(folder, { recursive: true, force: true });
});

describe('worker threads that are ended', () => {
  it(
    'while they start, compile through the store and compute leave it, files and folders in order',
    { timeout: timeout + 5000 },
    async () => {
      const env = { ...process.env, MERCER_CACHE_DIR: store, TMPDIR: temporary };
      const options = { timeout, killSignal: 'SIGKILL' } as const;
      const { stdout, stderr } = await run(process.execPath, [script, String(workers)], {
        env,
        ...options,
      });
      expect(JSON.parse(stdout)).toEqual({ wrong: [], computed: workers / 2 });
      expect(stderr).toBe('');
      // The folder of a worker that ended between two steps of a compile stays until the next program compiles. How many do so depends on
      // how busy the machine is, but each compiles one kernel at a time.
      expect(readdirSync(temporary).length).toBeLessThanOrEqual(workers);
      await run(process.execPath, [script, '0'], {
        env: { ...env, MERCER_CACHE: 'off' },
        ...options,
      });
      expect(readdirSync(temporary)).toEqual([]);
    },
  );
});
