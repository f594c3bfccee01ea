import { describe, expect, test } from 'vitest';
import { readResults } from '../lib/test-results.mjs';
import { linkedTests, missingTests } from './linked-tests.mjs';

const table = `
| feature | shown by |
| ------- | -------- |
| fast    | [is \`fast\`](a/b.test.ts), [is right](a/c.test.mjs), [notes](docs/notes.md) |
`;
const links = linkedTests(table);
const exists = () => true;

test('links to tests are found, others are not', () => {
  expect(links).toEqual([
    { title: 'is fast', file: 'a/b.test.ts', line: 4 },
    { title: 'is right', file: 'a/c.test.mjs', line: 4 },
  ]);
});

describe('a link is good', () => {
  const passed = readResults(
    `{"file":"a/b.test.ts","name":"it > is fast","state":"passed"}\n{"file":"a/c.test.mjs","name":"is right","state":"passed"}\n`,
  );
  test('when all tests of that name passed', () => {
    expect(missingTests(links, { exists, results: passed })).toEqual([]);
  });
  test('without results when the file exists', () => {
    expect(missingTests(links, { exists, results: undefined })).toEqual([]);
  });
});

describe('a link is bad', () => {
  test('when the file is gone', () => {
    const problems = missingTests(links, { exists: () => false, results: undefined });
    expect(problems[0]).toBe("line 4: 'is fast' in a/b.test.ts: the file does not exist");
  });
  test('when no test has that name', () => {
    const results = [{ file: 'a/b.test.ts', name: 'it > is slow', state: 'passed' }];
    expect(missingTests(links.slice(0, 1), { exists, results })).toEqual([
      "line 4: 'is fast' in a/b.test.ts: no such test ran",
    ]);
  });
  test.each(['skipped', 'failed', 'pending'])('when one of them is %s', (state) => {
    const results = [
      { file: 'a/b.test.ts', name: 'is fast 1', state: 'passed' },
      { file: 'a/b.test.ts', name: 'is fast 2', state },
    ];
    expect(missingTests(links.slice(0, 1), { exists, results })).toEqual([
      `line 4: 'is fast' in a/b.test.ts: 'is fast 2' ${state}`,
    ]);
  });
});
