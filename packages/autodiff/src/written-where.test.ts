import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const run = promisify(execFile);

/** The packages, as they are installed where vitest.shared.ts says so and else as they lie here. */
const PACKAGES = process.env['MERCER_TEST_INSTALLED'] ?? join(import.meta.dirname, '..', '..');
const fileOf = (name: string): string =>
  JSON.stringify(pathToFileURL(join(PACKAGES, name, 'dist', 'index.js')).href);

const PROGRAM = `
const { tensor } = await import(${fileOf('tensor')});
const { grad } = await import(${fileOf('autodiff')});
const where = { device: 'cpu' };
const [x, w] = [await tensor([1, 2], where), await tensor([3, 4], where)];
const culprit = () => w.fill(0);
const loss = async (v) => {
  const sum = await v.mul(w).sum();
  await culprit();
  return sum;
};
await grad(loss)(x).catch((e) => console.log(e.code, e.cause?.stack));`;

it.each([
  ['tensor', /^MODIFIED Error: it was written here\n(.*\n)*.*culprit/],
  ['', /^MODIFIED undefined\n$/],
])(
  'MERCER_DEBUG=%s says where a tensor was written that a gradient needs, or nothing',
  async (debug, said) => {
    const env = { ...process.env, MERCER_DEBUG: debug };
    const args = ['--input-type=module', '--eval', PROGRAM];
    const { stdout } = await run(process.execPath, args, { env, timeout: 50_000 });
    expect(stdout).toMatch(said);
  },
);
