import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { root } from '../lib/workspace.mjs';

/** @type {string[]} */
const folders = [];
afterAll(() => folders.splice(0).forEach((folder) => rmSync(folder, { recursive: true })));

/**
 * Runs the real rules over a small workspace.
 * @param {Record<string, string>} files contents by path below packages/
 */
function cruise(files) {
  const folder = mkdtempSync(path.join(tmpdir(), 'mercer-layers-'));
  folders.push(folder);
  cpSync(path.join(root, '.dependency-cruiser.mjs'), path.join(folder, '.dependency-cruiser.mjs'));
  cpSync(path.join(root, 'tsconfig.base.json'), path.join(folder, 'tsconfig.base.json'));
  mkdirSync(path.join(folder, 'scripts'));
  cpSync(path.join(root, 'scripts/lint'), path.join(folder, 'scripts/lint'), { recursive: true });
  mkdirSync(path.join(folder, 'node_modules/@mercer'), { recursive: true });
  symlinkSync(
    path.join(root, 'node_modules/typescript'),
    path.join(folder, 'node_modules/typescript'),
  );
  for (const name of ['cuda-runtime', 'formula', 'kernels', 'tensor']) {
    const directory = path.join(folder, 'packages', name);
    mkdirSync(path.join(directory, 'src'), { recursive: true });
    mkdirSync(path.join(directory, 'dist'));
    symlinkSync(directory, path.join(folder, 'node_modules/@mercer', name));
    const manifest = { name: `@mercer/${name}`, type: 'module', exports: './dist/index.js' };
    const dependencies = { '@mercer/formula': '*', '@mercer/kernels': '*', '@mercer/tensor': '*' };
    writeFileSync(
      path.join(directory, 'package.json'),
      JSON.stringify({ ...manifest, dependencies }),
    );
    writeFileSync(path.join(directory, 'dist/index.js'), 'export const here = 1;\n');
    writeFileSync(path.join(directory, 'src/index.ts'), 'export const here = 1;\n');
  }
  for (const [file, text] of Object.entries(files))
    writeFileSync(path.join(folder, 'packages', file), text);
  const program = path.join(root, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');
  const result = spawnSync(
    process.execPath,
    [program, '--config', '.dependency-cruiser.mjs', '--output-type', 'err', 'packages'],
    {
      cwd: folder,
      encoding: 'utf8',
    },
  );
  return { status: result.status, output: result.stdout + result.stderr };
}

/** What may be, in one workspace. */
const allowed = cruise({
  'tensor/src/index.ts': "export { here } from '@mercer/kernels';\n",
  'cuda-runtime/src/device.ts': "import { S } from './stream.js';\nexport class D { s = S }\n",
  'cuda-runtime/src/stream.ts': "import type { D } from './device.js';\nexport class S { d?: D }\n",
});

/** One file or two for each rule, in one workspace. */
const { status, output } = cruise({
  'formula/src/up.ts': "export { here } from '@mercer/kernels';\n",
  'kernels/src/up-for-a-type.ts': "export type { here } from '@mercer/tensor';\n",
  'formula/src/up.test.ts': "export { here } from '@mercer/kernels';\n",
  'formula/src/helped.ts': "export { a } from './a.test-support.js';\n",
  'formula/src/a.test-support.ts': 'export const a = 1;\n',
  'formula/src/class-a.ts': "import type { B } from './class-b.js';\nexport class A { b?: B }\n",
  'formula/src/class-b.ts': "import { A } from './class-a.js';\nexport class B extends A {}\n",
  'formula/src/a.ts': "export { b as a } from './b.js';\n",
  'formula/src/b.ts': "export { a as b } from './a.js';\n",
  'formula/src/lost.ts': "export { a } from './gone.js';\n",
  'cuda-runtime/src/device.ts':
    "import { S } from './stream.js';\nimport { P } from './pool.js';\nexport class D { s = S; p = P }\n",
  'cuda-runtime/src/stream.ts': "import { D } from './device.js';\nexport class S { d = D }\n",
  'cuda-runtime/src/pool.ts': "import type { D } from './device.js';\nexport class P { d?: D }\n",
});

/** What is said of a file: the rules that it breaks. */
const brokenBy = (/** @type {string} */ file) =>
  [...output.matchAll(/error ([\w-]+): packages\/(\S+)/g)].flatMap(([, rule, where]) =>
    where === file ? [rule] : [],
  );

describe('the rules of import direction', () => {
  it('let a package look down', () => {
    expect(allowed).toMatchObject({ status: 0 });
  });

  it('refuse to look up', () => {
    expect(status).not.toBe(0);
    expect(brokenBy('formula/src/up.ts')).toEqual(['formula-looks-down-only']);
  });

  it('refuse to look up for a type only', () => {
    expect(brokenBy('kernels/src/up-for-a-type.ts')).toEqual(['kernels-looks-down-only']);
  });

  it('hold for tests too', () => {
    expect(brokenBy('formula/src/up.test.ts')).toEqual(['formula-tests-look-down-only']);
  });

  it('refuse helpers of tests in published code', () => {
    expect(brokenBy('formula/src/helped.ts')).toEqual(['published-code-imports-no-tests']);
  });

  it('refuse circles of types', () => {
    expect(brokenBy('formula/src/class-a.ts')).toEqual(['no-circular']);
  });

  it('allow the classes of cuda-runtime to name each other as types', () => {
    expect(allowed).toMatchObject({ status: 0 });
  });

  it('refuse any other circle through them', () => {
    expect(brokenBy('cuda-runtime/src/device.ts')).toEqual([
      'cuda-classes-are-circular-as-types-only',
    ]);
    expect(brokenBy('cuda-runtime/src/pool.ts')).toEqual(['no-circular']);
  });

  it('refuse circles', () => {
    expect(brokenBy('formula/src/a.ts')).toEqual(['no-circular']);
  });

  it('refuse what does not resolve', () => {
    expect(brokenBy('formula/src/lost.ts')).toEqual(['not-to-unresolvable']);
  });
});
