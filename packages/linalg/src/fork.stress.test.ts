import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { lapack } from '@mercer/cpu-runtime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const run = promisify(execFile);
const script = fileURLToPath(new URL('../test/fork-attack.mjs', import.meta.url));
const whole = process.env['MERCER_TEST_FULL'] === '1';
const spawns = whole ? 10_000 : 30;
const timeout = whole ? 1_800_000 : 90_000;
const PROCESSES = new RegExp(`^${spawns} processes during [1-9]\\d* calls$`);

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'mercer-fork-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** What a process of its own says; one that hangs is killed, and the test fails. */
async function attack(routine: string): Promise<string> {
  const env = { ...process.env, MERCER_CACHE_DIR: folder };
  const args = [script, routine, String(spawns)];
  const { stdout } = await run(process.execPath, args, { env, timeout, killSignal: 'SIGKILL' });
  return stdout.trim();
}

// A fork handler of a library that computes on threads of its own stops them in the middle of a call, which then never ends.
const OWN = [
  'matmul',
  'solveCholesky',
  'solveLU',
  'solveTriangular',
  'cholesky',
  'inv',
  'logdet',
  'conditionEstimate',
  'qr',
];

describe('processes are started while', () => {
  it.each(OWN)('%s runs', { timeout: timeout + 5000 }, async (routine) => {
    expect(await attack(routine)).toMatch(PROCESSES);
  });
});

describe.skipIf(!lapack.isAvailable())('with a LAPACK (skipped only without one)', () => {
  it.each(['eigh', 'svd', 'lstsq', 'matrixPower'])(
    'processes are started while %s runs',
    { timeout: timeout + 5000 },
    async (routine) => {
      expect(await attack(routine)).toMatch(PROCESSES);
    },
  );

  it('formulas are compiled while eigh runs', { timeout: timeout + 5000 }, async () => {
    expect(await attack('compiling')).toMatch(/^\d+ formulas during [1-9]\d* calls$/);
  });

  it(
    'workers are ended in the middle of eigh, and processes started',
    { timeout: timeout + 5000 },
    async () => {
      expect(await attack('terminating')).toMatch(/^\d+ workers ended$/);
    },
  );
});
