// Runs the examples that take `--whole` at that size, one after the other, and writes what they say of their times as JSON.
// `node scripts/examples/whole.mjs FILE`, on a machine with a GPU. The table of docs/performance/tutorials.md comes from it.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeMachine } from '../../packages/cli/dist/bench/machine.js';

const [file, folder = fileURLToPath(new URL('../../examples/', import.meta.url))] =
  process.argv.slice(2);
if (file === undefined)
  throw new Error('Name the file to write: node scripts/examples/whole.mjs FILE');

const { devices } = await import('../../packages/core/dist/index.js');
const startedAt = new Date().toISOString();
const gpu = devices().find(({ id }) => id.startsWith('cuda'));
const rows = readdirSync(folder)
  .filter((name) => /^\d+-.*\.mjs$/.test(name))
  .filter((name) => readFileSync(path.join(folder, name), 'utf8').includes('./lib/whole.mjs'))
  .flatMap((name) => {
    const start = performance.now();
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [path.resolve(folder, name), '--whole'],
      { cwd: mkdtempSync(path.join(tmpdir(), 'whole-')), encoding: 'utf8', timeout: 90_000 },
    );
    const wholeS = (performance.now() - start) / 1000;
    console.log(`${name}: ${status === 0 ? 'passed' : 'FAILED'} in ${wholeS.toFixed(1)} s`);
    if (status !== 0) console.log(stderr.slice(-2000));
    return [...stdout.matchAll(/^(.+): (\d+\.\d+) s$/gm)].map(([, what, seconds]) => ({
      example: name.replace(/\.mjs$/, ''),
      what,
      seconds: Number(seconds),
      passed: status === 0,
    }));
  });
const report = {
  schema: 1,
  suite: 'tutorials',
  command: 'node scripts/examples/whole.mjs tutorials.json',
  startedAt,
  machine: describeMachine(),
  device: gpu && { id: gpu.id, name: gpu.name },
  unit: 'seconds of the work named, first calls and the compilation of their kernels included',
  rows,
};
writeFileSync(file, `${JSON.stringify(report, null, 2)}\n`);
