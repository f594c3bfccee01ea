import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { run } from '../lib/shell.mjs';
import { currentPlatform } from '../lib/platform.mjs';
import { writeSbom } from './sbom.mjs';
import { aboutPart, partsOf } from './third-party.mjs';

it('lists packages with hashes, what they depend on and what they carry, in the same bytes each time', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'mercer-sbom-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const packed = [
    {
      name: '@mercer/linalg',
      version: '1.2.3',
      license: 'MIT',
      dependencies: { commander: '14.0.3' },
    },
    {
      name: '@mercer/core',
      version: '2.0.0',
      license: 'MIT',
      dependencies: { '@mercer/linalg': '^1.0.0' },
    },
  ].map((manifest, i) => {
    mkdirSync(path.join(folder, String(i), 'package'), { recursive: true });
    writeFileSync(path.join(folder, String(i), 'package/package.json'), JSON.stringify(manifest));
    run('tar', ['-czf', 'a.tgz', 'package'], { cwd: path.join(folder, String(i)) });
    return { name: manifest.name, tarball: path.join(folder, String(i), 'a.tgz') };
  });
  const [file, again] = [path.join(folder, 'a.json'), path.join(folder, 'b.json')];
  writeSbom(packed, file);
  writeSbom(packed, again);
  expect(readFileSync(again, 'utf8')).toBe(readFileSync(file, 'utf8'));

  const { specVersion, components, dependencies } = JSON.parse(readFileSync(file, 'utf8'));
  expect(specVersion).toBe('1.6');
  const linalg = components.find((/** @type {any} */ { name }) => name === 'linalg');
  const sum = createHash('sha512').update(readFileSync(String(packed[0]?.tarball)));
  expect(linalg).toMatchObject({
    group: '@mercer',
    version: '1.2.3',
    purl: 'pkg:npm/%40mercer/linalg@1.2.3',
    hashes: [{ alg: 'SHA-512', content: sum.digest('hex') }],
  });
  const carried = linalg.components.map((/** @type {any} */ { name }) => name);
  expect(carried).toContain('ml-matrix');
  expect(carried).toHaveLength(5);
  const needs = Object.fromEntries(
    dependencies.map((/** @type {any} */ { ref, dependsOn = [] }) => [ref, dependsOn]),
  );
  expect(needs['pkg:npm/%40mercer/core@2.0.0']).toEqual(['pkg:npm/%40mercer/linalg@1.2.3']);
  expect(needs['pkg:npm/%40mercer/linalg@1.2.3']).toEqual(['pkg:npm/commander@14.0.3']);
});

/** `name version` of what a package carries, or why it has none. */
const versionsOf = (/** @type {string} */ name) =>
  partsOf(name).map((part) => `${part.name} ${part.version ?? aboutPart(part)}`);

it('tells the versions of what is carried, or why there is none', () => {
  expect(versionsOf('@mercer/cli')).toEqual(['mnist 1.1.0']);
  expect(versionsOf('@mercer/openblas-linux-x64-gnu')).toEqual([
    expect.stringMatching(/^OpenBLAS \d+\.\d+\.\d+/),
    'LAPACK in OpenBLAS; version unknown: OpenBLAS has a copy of its own, with later corrections',
    'libgfortran 5.0.0',
    'libquadmath 0.0.0',
  ]);
  expect(versionsOf(`@mercer/jit-cache-${currentPlatform().suffix}`)).toEqual([
    expect.stringMatching(/^node-api-headers \d/),
    expect.stringMatching(/^SQLite 3\./),
    expect.stringMatching(/^libstdc\+\+ and libgcc \d+\.\d+\.\d+$/),
  ]);
});

it.skipIf(!existsSync('/usr/share/doc/wasi-libc/copyright'))(
  'tells the versions of what is linked into WebAssembly',
  () => {
    expect(versionsOf('@mercer/cpu-runtime-wasm')).toEqual([
      expect.stringMatching(/^wasi-libc 0\.0~git\d+/),
      expect.stringMatching(/^libc\+\+ and libc\+\+abi 1:19\.\d/),
      expect.stringMatching(/^compiler-rt 1:19\.\d/),
    ]);
  },
);
