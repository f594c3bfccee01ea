import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

/* What an import loads, in a process of its own. */

const core = pathToFileURL(
  join(
    process.env['MERCER_TEST_INSTALLED'] ?? join(import.meta.dirname, '../..'),
    'core/dist/index.js',
  ),
).href;

it('an import of the packages as they are published loads none of the modules of Node that take milliseconds', async () => {
  const text = `
    const before = new Set(process.moduleLoadList);
    await import(${JSON.stringify(core)});
    const after = process.moduleLoadList.filter((one) => !before.has(one));
    console.log(JSON.stringify(after.map((one) => one.replace(/^(NativeModule|Internal Binding) /, ''))));`;
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--input-type=module',
    '-e',
    text,
  ]);
  const loaded = JSON.parse(stdout) as string[];
  expect(loaded.length).toBeGreaterThan(0);
  const slow = ['child_process', 'crypto', 'net', 'process', 'stream', 'worker_threads', 'zlib'];
  expect(loaded.filter((one) => slow.includes(one))).toEqual([]);
});
