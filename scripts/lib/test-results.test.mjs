import { expect, test } from 'vitest';
import { closingLine, patternWithout, readResults, writeResults } from './test-results.mjs';

const file = 'a/b.test.ts';

test('a test that one run skipped and a later one passed has passed', () => {
  const text =
    writeResults([
      { file, name: 'one', state: 'skipped' },
      { file, name: 'two', state: 'skipped' },
    ]) + writeResults([{ file, name: 'one', state: 'passed' }]);
  expect(closingLine(readResults(text))).toBe('1 passed, 0 failed, 1 skipped');
});

test('a failure is not forgotten when another run passes', () => {
  for (const states of [
    ['failed', 'passed'],
    ['passed', 'failed'],
  ]) {
    const text = states.map((state) => writeResults([{ file, name: 'one', state }])).join('');
    expect(closingLine(readResults(text))).toBe('0 passed, 1 failed, 0 skipped');
  }
});

test('tests of one name in one file are counted each', () => {
  const twice = [
    { file, name: 'one', state: 'passed' },
    { file, name: 'one', state: 'skipped' },
  ];
  expect(closingLine(readResults(writeResults(twice)))).toBe('1 passed, 0 failed, 1 skipped');
});

test('a pattern leaves out whole names alone', () => {
  const pattern = new RegExp(patternWithout(['a suite > (1 + 1) > 0.5', 'one']));
  const names = ['a suite (1 + 1) > 0.5', 'one', 'one more', 'no one', 'a suite (1 + 1) > 0x5'];
  expect(names.filter((name) => pattern.test(name))).toEqual(names.slice(2));
});
