import { expect, test } from 'vitest';
import { startChild } from '../testing/run-child.test-support.js';
import { temporaryDirectory } from '../testing/temporary-directory.test-support.js';

test('six processes write, delete and read eight keys for a second: every read is whole', async () => {
  const settings = { cache: { directory: temporaryDirectory() } };
  const job = { kind: 'storm', durationMs: 1000, keys: 8 } as const;
  const children = Array.from({ length: 6 }, () => startChild(settings, job));
  const results = await Promise.all(children.map(({ result }) => result));
  expect(results.flatMap(({ bad }) => bad)).toEqual([]);
  expect(results.flatMap(({ warnings }) => warnings)).toEqual([]);
  const reads = results.reduce((sum, result) => sum + (result.reads ?? 0), 0);
  expect(reads).toBeGreaterThan(60);
});
