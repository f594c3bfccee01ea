import { execFile } from 'node:child_process';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const run = promisify(execFile);
const PACKAGES = process.env['MERCER_TEST_INSTALLED'] ?? path.join(import.meta.dirname, '../..');
const ENTRY = pathToFileURL(path.join(PACKAGES, 'core/dist/index.js')).href;

/** What each case begins with: matrices with and without equal values, and losses that depend on some of the results. */
const BEGINNING = `
const { eigh, grad, jvp, linearize, svd, tensor, vmap } = await import(${JSON.stringify(ENTRY)});
process.on('warning', ({ code, name, message }) => console.log(name, code, message));
const matrix = (rows, dtype = 'float64') => tensor(rows, { device: 'cpu', dtype });
const equal = await matrix([[2, 0, 0], [0, 2, 0], [0, 0, 5]]);
const distinct = await matrix([[1, 0, 0], [0, 3, 0], [0, 0, 5]]);
const of = (call, ...names) => async (a) => {
  const results = await call(a);
  const sums = await Promise.all(names.map((name) => results[name].mul(results[name].add(1)).sum()));
  return sums.reduce((x, y) => x.add(y));
};
const along = (f) => async (a) => (await jvp(f)([a], [a])).tangent;
const linear = (f) => async (a) => { const { value, push, dispose } = await linearize(f)(a); await push(a); dispose(); };
`;

/** The warnings of the whole program, a line each. The process is a new one: they are given once a process. */
async function warningsOf(program: string): Promise<readonly string[]> {
  const args = ['--no-warnings', '--input-type=module', '--eval', BEGINNING + program];
  const env = { ...process.env, MERCER_CPU: 'interpreted' };
  const { stdout } = await run(process.execPath, args, { env, timeout: 50_000 });
  return stdout.split('\n').filter((line) => line.includes('DEGENERATE_SPECTRUM'));
}

const EIGH = /^MercerWarning DEGENERATE_SPECTRUM eigh: equal eigenvalues at positions \(0, 1\) of/;
const SVD = /^MercerWarning DEGENERATE_SPECTRUM svd: singular values that are .* at positions /;

it.each([
  ['grad of vectors', "await grad(of(eigh, 'vectors'))(equal)", EIGH],
  ['jvp of vectors', "await along(of(eigh, 'vectors'))(equal)", EIGH],
  ['jvp that gives vectors', 'await along(async (a) => (await eigh(a)).vectors)(equal)', EIGH],
  ['linearize of vectors', "await linear(of(eigh, 'vectors'))(equal)", EIGH],
  [
    'linearize that gives vectors',
    'await linear(async (a) => (await eigh(a)).vectors)(equal)',
    EIGH,
  ],
  [
    'second derivatives of values',
    "await grad(async (a) => (await grad(of(eigh, 'values'))(a)).square().sum())(equal)",
    EIGH,
  ],
  [
    'a forward over a reverse derivative of values',
    "await along(grad(of(eigh, 'values')))(equal)",
    EIGH,
  ],
  [
    'grad of mapped examples',
    "await vmap(grad(of(eigh, 'vectors')))(await matrix([[[2, 0], [0, 2]]]))",
    EIGH,
  ],
  [
    'values that float32 cannot tell apart',
    "await grad(of(eigh, 'vectors'))(await matrix([[1, 0], [0, 1 + 2e-7]], 'float32'))",
    EIGH,
  ],
  ['grad of left singular vectors', "await grad(of(svd, 'u'))(equal)", SVD],
  ['grad of right singular vectors', "await grad(of(svd, 'vh'))(equal)", SVD],
  ['jvp of singular vectors', "await along(of(svd, 's', 'u'))(equal)", SVD],
  [
    'a singular value of 0',
    "await grad(of(svd, 'u'))(await matrix([[2, 0], [0, 0], [0, 0]]))",
    SVD,
  ],
])('%s warns of equal values, once', async (_, call, said) => {
  const found = await warningsOf(`${call};\n${call};`);
  expect(found).toEqual([expect.stringMatching(said)]);
});

it('nothing warns where only values are used, or where they are distinct', async () => {
  const found = await warningsOf(`
for (const by of [grad, along, linear]) {
  await by(of(eigh, 'values'))(equal);
  await by(of(svd, 's'))(equal);
  await by(of(eigh, 'values', 'vectors'))(distinct);
  await by(of(svd, 'u', 's', 'vh'))(distinct);
}
await along(grad(of(eigh, 'values', 'vectors')))(distinct);
await of(eigh, 'vectors')(equal);`);
  expect(found).toEqual([]);
});
