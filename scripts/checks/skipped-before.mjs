// Runs the files of which runs before skipped a test, without the tests that passed there; those that wait for a GPU are left out.
//   node scripts/checks/skipped-before.mjs results.jsonl
// A package at a time: with the files of all packages in one run, vitest 4.1.12 does not find its own dependencies for one file of tensor.
import { readFileSync } from 'node:fs';
import { startVitest } from 'vitest/node';
import { patternWithout, readResults } from '../lib/test-results.mjs';

const results = readResults(readFileSync(String(process.argv[2]), 'utf8'));
const wasSkipped = results.filter(
  ({ file, state }) => state !== 'passed' && state !== 'failed' && !file.endsWith('.gpu.test.ts'),
);
const folderOf = (/** @type {string} */ file) => file.split('/').slice(0, 2).join('/');

for (const folder of new Set(wasSkipped.map(({ file }) => folderOf(file)))) {
  const skipped = wasSkipped.filter(({ file }) => folderOf(file) === folder);
  const files = new Set(skipped.map(({ file }) => file));
  const wanted = new Set(skipped.map(({ name }) => name));
  const passed = results.filter(
    ({ file, name, state }) => files.has(file) && state === 'passed' && !wanted.has(name),
  );
  const vitest = await startVitest('test', [...files], {
    run: true,
    testTimeout: 120_000,
    typecheck: { enabled: false },
    ...(passed.length > 0 && {
      testNamePattern: patternWithout(passed.map(({ name }) => name)),
    }),
  });
  await vitest.close();
}
