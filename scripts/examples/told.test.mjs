import { expect, it } from 'vitest';
import { untold, withMarks } from './told.mjs';

/** What a program prints is collected as `node` would write it. @param {string} code */
async function differences(code) {
  const { code: marked, told } = withMarks(code);
  let output = '';
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = (/** @type {any} */ text) => ((output += text), true);
  try {
    await import(`data:text/javascript,${encodeURIComponent(marked)}`);
  } finally {
    process.stdout.write = write;
  }
  return untold(told, output);
}

it('finds comments that say something else than what is printed', async () => {
  expect(await differences('console.log([1, 2]); // [ 1, 2 ]')).toEqual([]);
  expect(await differences('\nconsole.log([1, 2]); // [ 1, 3 ]')).toEqual([
    'line 2 prints "[ 1, 2 ]", and its comment says "[ 1, 3 ]"',
  ]);
});

it('takes one line or all of a statement that ran several times', async () => {
  const loop = 'for (const x of [1, 2]) console.log(x);';
  for (const text of ['1', '2', '1, 2'])
    expect(await differences(`${loop} // ${text}`)).toEqual([]);
  expect(await differences(`${loop} // 3`)).toHaveLength(1);
});

it('leaves explanations behind a comma, gaps, and statements without a comment', async () => {
  expect(await differences("console.log('a b'); // a b, or so")).toEqual([]);
  expect(await differences('console.log(1 / 3, 2); // 0.333... 2')).toEqual([]);
  expect(await differences('console.log(1 / 3, 2); // 0.334... 2')).toHaveLength(1);
  expect(await differences('console.log(5); // about 5.01')).toEqual([]);
  expect(await differences('console.log(5);\n// 6')).toEqual([]);
});

it('reads statements over several lines', async () => {
  expect(await differences('console.log(\n  7,\n  8,\n); // 7 8')).toEqual([]);
  expect(await differences('console.log(\n  7,\n); // 8')).toEqual([
    'line 3 prints "7", and its comment says "8"',
  ]);
});
