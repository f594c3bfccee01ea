import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { run } from '../lib/shell.mjs';
import { NOTICES, writeNotices } from '../release/third-party.mjs';
import { contentProblems } from './tarball-content.mjs';

/** @type {string[]} */
const folders = [];
afterEach(() => folders.splice(0).forEach((folder) => rmSync(folder, { recursive: true })));

/** @param {object} manifest @param {readonly string[]} files besides package.json, README.md and LICENSE */
function tarball(manifest, files = []) {
  const folder = mkdtempSync(path.join(tmpdir(), 'mercer-content-'));
  folders.push(folder);
  for (const file of ['README.md', 'LICENSE', ...files]) {
    const target = path.join(folder, 'package', file);
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, '');
  }
  writeFileSync(path.join(folder, 'package/package.json'), JSON.stringify(manifest));
  run('tar', ['-czf', 'a.tgz', 'package'], { cwd: folder });
  return path.join(folder, 'a.tgz');
}

describe('contentProblems', () => {
  it('accepts code, types and documents', () => {
    const file = tarball({ scripts: { build: 'tsc' } }, ['dist/index.js', 'dist/testament.js']);
    expect(contentProblems(file)).toEqual([]);
  });

  it.each(['preinstall', 'install', 'postinstall', 'prepare'])(
    'refuses the script %s',
    (script) => {
      expect(contentProblems(tarball({ scripts: { [script]: 'node x' } }))[0]).toContain(script);
    },
  );

  it('refuses a binding.gyp, which npm builds unasked', () => {
    expect(contentProblems(tarball({}, ['binding.gyp']))[0]).toContain('binding.gyp');
  });

  it.each([
    'dist/a.test.js',
    'dist/a.gpu.test.js',
    'dist/a.test-d.d.ts',
    'dist/a.test-support.js',
    'dist/testing/helper.test-support.js',
    'dist/.tsbuildinfo',
    'native/a.cc',
  ])('refuses %s', (name) => {
    expect(contentProblems(tarball({}, [name]))).toEqual([`carries package/${name}`]);
  });

  it('refuses a range that only the workspace understands', () => {
    const file = tarball({ peerDependencies: { '@mercer/tensor': 'workspace:^' } });
    expect(contentProblems(file)).toEqual(['publishes @mercer/tensor as workspace:^']);
  });

  it('wants os and cpu of a platform package', () => {
    expect(contentProblems(tarball({}), true)).toEqual(['has no os and cpu fields']);
    expect(contentProblems(tarball({ os: ['linux'], cpu: ['x64'] }), true)).toEqual([]);
  });

  it('wants the licences of what a package carries of other projects', () => {
    const name = '@mercer/jit-cache-linux-x64-gnu';
    const problems = (/** @type {string} */ file) =>
      contentProblems(file).map((one) => /carries (.*), whose licence/.exec(one)?.[1]);
    const all = ['node-api-headers', 'SQLite', 'libstdc++ and libgcc'];
    expect(problems(tarball({ name }))).toEqual(all);
    expect(problems(tarball({ name }, [NOTICES]))).toEqual(all);
    const folder = mkdtempSync(path.join(tmpdir(), 'mercer-notices-'));
    folders.push(folder);
    const manifest = { name, files: ['a.node'] };
    writeNotices(folder, manifest);
    expect(manifest.files).toEqual(['a.node', NOTICES]);
    const file = tarball({ name });
    run('mv', [path.join(folder, NOTICES), path.join(path.dirname(file), 'package')]);
    run('tar', ['-czf', 'a.tgz', 'package'], { cwd: path.dirname(file) });
    expect(problems(file)).toEqual([]);
  });
});
