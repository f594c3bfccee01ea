import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { compilesIn, fakeUnit } from '../testing/fake-toolchain.test-support.js';
import { runChild } from '../testing/run-child.test-support.js';
import { temporaryDirectory } from '../testing/temporary-directory.test-support.js';

test('versions, CUDA majors and architectures alternate in one folder without a rebuild', async () => {
  const directory = temporaryDirectory();
  const counterFile = join(temporaryDirectory(), 'count');
  const sources = ['first kernel', 'second kernel'];
  const targets = ['sm_90', 'sm_90a', 'sm_120'];
  const units = sources.flatMap((source) => targets.map((target) => fakeUnit(source, { target })));
  const users = ['0.1', '0.2'].flatMap((generator) =>
    ['nvrtc 12.9', 'nvrtc 13.0'].map((identity) => ({ generator, identity })),
  );
  const shas: (string | undefined)[][] = [];
  for (let round = 0; round < 3; round++) {
    const all: (string | undefined)[] = [];
    for (const { generator, identity } of users) {
      const settings = { cache: { directory, generator }, toolchain: { counterFile, identity } };
      const { gets } = await runChild(settings, { kind: 'get', units });
      all.push(...gets.map(({ sha }) => sha));
    }
    shas.push(all);
    // Everything is built in the first round, and nothing after it.
    expect(compilesIn(counterFile)).toHaveLength(users.length * units.length);
  }
  expect(shas[1]).toEqual(shas[0]);
  expect(shas[2]).toEqual(shas[0]);
  // The toolchain and the target decide the bytes of this compiler.
  expect(new Set(shas[0]).size).toBe(2 * units.length);
});

test('databases of other schema versions beside ours are left alone', async () => {
  const directory = temporaryDirectory();
  const others = ['kernels-v0.sqlite', 'kernels-v2.sqlite'].map((name) => join(directory, name));
  for (const file of others) writeFileSync(file, `the schema of ${file}`, { mode: 0o600 });
  const { stats } = await runChild(
    { cache: { directory } },
    { kind: 'get', units: [fakeUnit('a')] },
  );
  expect(stats.state).toBe('disk');
  expect(stats.path).toBe(join(directory, 'kernels-v1.sqlite'));
  for (const file of others) expect(readFileSync(file, 'utf8')).toBe(`the schema of ${file}`);
});
