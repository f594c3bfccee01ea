import { describe, expect, test } from 'vitest';
import { readResults } from '../lib/test-results.mjs';
import { missingTests, readEvidence } from './evidence-text.mjs';

const text = `// about the file

## Speed

// about the section
It is fast
  a/b.test.ts
    is fast
  a/c.test.mjs
    is right
  // notes
It is small
  // bench/results
theirs => not here yet
`;
const { claims, tests, problems } = readEvidence(text);
const exists = () => true;

test('claims and the tests that they name are read, remarks are not', () => {
  expect({ claims, tests, problems }).toEqual({
    claims: 3,
    tests: [
      { title: 'is fast', file: 'a/b.test.ts', line: 8 },
      { title: 'is right', file: 'a/c.test.mjs', line: 10 },
    ],
    problems: [],
  });
});

test.each([
  ['a claim that nothing shows', 'It is fast\nIt is small\n  // notes\n', "nothing shows 'It is"],
  ['the last claim, too', 'It is fast\n', "line 2: nothing shows 'It is fast'"],
  ['a file without a test', 'It is fast\n  a/b.test.ts\n  // notes\n', 'no test of a/b.test.ts'],
  ['a test without a file', 'It is fast\n  // notes\n    is fast\n', "line 3: 'is fast' is no"],
  ['a file that is no test', 'It is fast\n  a/b.ts\n', "line 2: 'a/b.ts' is no claim"],
  ['a wrong indent', 'It is fast\n  a/b.test.ts\n   is fast\n    is\n', "line 3: 'is fast' is no"],
])('is told of: %s', (_, wrong, message) => {
  expect(readEvidence(wrong).problems.join('\n')).toContain(message);
});

describe('a named test is good', () => {
  const passed = readResults(
    `{"file":"a/b.test.ts","name":"it > is fast","state":"passed"}\n{"file":"a/c.test.mjs","name":"is right","state":"passed"}\n`,
  );
  test('when all tests of that name passed', () => {
    expect(missingTests(tests, { exists, results: passed })).toEqual([]);
  });
  test('without results when the file exists', () => {
    expect(missingTests(tests, { exists, results: undefined })).toEqual([]);
  });
});

describe('a named test is bad', () => {
  test('when the file is gone', () => {
    const missing = missingTests(tests, { exists: () => false, results: undefined });
    expect(missing[0]).toBe("line 8: 'is fast' in a/b.test.ts: the file does not exist");
  });
  test('when no test has that name', () => {
    const results = [{ file: 'a/b.test.ts', name: 'it > is slow', state: 'passed' }];
    expect(missingTests(tests.slice(0, 1), { exists, results })).toEqual([
      "line 8: 'is fast' in a/b.test.ts: no such test ran",
    ]);
  });
  test.each(['skipped', 'failed', 'pending'])('when one of them is %s', (state) => {
    const results = [
      { file: 'a/b.test.ts', name: 'is fast 1', state: 'passed' },
      { file: 'a/b.test.ts', name: 'is fast 2', state },
    ];
    expect(missingTests(tests.slice(0, 1), { exists, results })).toEqual([
      `line 8: 'is fast' in a/b.test.ts: 'is fast 2' ${state}`,
    ]);
  });
});
