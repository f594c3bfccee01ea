import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'mercer-quiet-'));

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const PROGRAM = `
const { formula, jitCache, map, tensor } = await import(${JSON.stringify(new URL('../dist/index.js', import.meta.url).href)});
const u = await tensor([1, 2], { device: 'cpu' });
const { variable, mul } = formula;
console.log(JSON.stringify(await (await map(mul(variable('u'), variable('u')), { u })).toNested()));
const { state, driver, counters } = await jitCache().stats();
console.log(state, driver, counters.compiles, counters.storeHits);
`;

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The program as a user starts it: with all warnings of Node. */
function runProgram(): Promise<Ended> {
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    MERCER_CPU: 'compiled',
    MERCER_CACHE: 'rw',
    MERCER_CACHE_DIR: folder,
  };
  for (const name of ['NODE_NO_WARNINGS', 'NODE_OPTIONS', 'MERCER_DEBUG']) {
    Reflect.deleteProperty(env, name);
  }
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      ['--input-type=module', '-e', PROGRAM],
      { env },
      (_, stdout, stderr) => {
        resolve({ code: child.exitCode, stdout, stderr });
      },
    );
  });
}

// `npm run test:nodes` runs this on Node 22, which warns of node:sqlite where nobody keeps it from that.
it('a program that compiles into the store, and one that finds it there, write nothing to stderr', async () => {
  const driver = process.getBuiltinModule('node:sqlite') === undefined ? 'SQLite' : 'node:sqlite';
  for (const counts of ['1 0', '0 1']) {
    const { code, stdout, stderr } = await runProgram();
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`^\\[1,4\\]\ndisk .*${driver}.* ${counts}\n$`));
  }
});
