import {
  cpSync,
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
import { afterEach, describe, expect, it } from 'vitest';
import { run } from '../lib/shell.mjs';
import { bundlePackage } from './bundle.mjs';

/** @type {string[]} */
const folders = [];
afterEach(() => folders.splice(0).forEach((folder) => rmSync(folder, { recursive: true })));

const SOURCES = {
  'error.ts': 'export class OurError extends Error {}\n',
  'index.ts':
    "import { OurError } from './error.js';\nexport { OurError };\nexport function fail(): never {\n  throw new OurError('as asked');\n}\n",
  'deep/index.ts': "export { OurError } from '../error.js';\n",
};

/** A package with two entries, and the same as it is packed. */
function twoEntries(/** @type {Record<string, string>} */ sources = SOURCES) {
  const folder = mkdtempSync(path.join(tmpdir(), 'mercer-bundle-'));
  folders.push(folder);
  const [source, packed] = [path.join(folder, 'source'), path.join(folder, 'packed')];
  for (const [file, text] of Object.entries(sources)) {
    const target = path.join(source, 'src', file);
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, text);
    const compiled = path.join(packed, 'dist', file.replace('.ts', ''));
    mkdirSync(path.dirname(compiled), { recursive: true });
    writeFileSync(`${compiled}.js`, 'a module of the compiler');
    writeFileSync(`${compiled}.d.ts`, '');
  }
  const entry = (/** @type {string} */ name) => ({
    types: `./dist/${name}.d.ts`,
    default: `./dist/${name}.js`,
  });
  const manifest = {
    name: 'two-entries',
    type: 'module',
    exports: {
      '.': entry('index'),
      './deep': entry('deep/index'),
      './package.json': './package.json',
    },
  };
  cpSync(path.join(source, 'src'), path.join(packed, 'src'), { recursive: true });
  return { source, packed, manifest };
}

/** @returns {Promise<string>} the folder of the bundled package */
async function bundled(
  /** @type {ReturnType<typeof twoEntries>} */ { source, packed, manifest },
  /** @type {Parameters<typeof bundlePackage>[3]} */ options = undefined,
) {
  await bundlePackage(source, packed, manifest, options);
  writeFileSync(path.join(packed, 'package.json'), JSON.stringify(manifest));
  return packed;
}

describe('bundlePackage', () => {
  it('writes each entry as a module and as CommonJS that share every class, and no other modules', async () => {
    const before = twoEntries();
    const { manifest } = before;
    const folder = await bundled(before);
    const require = createRequire(`${folder}/`);
    const same =
      "import { OurError, fail } from 'two-entries';\nimport * as deep from 'two-entries/deep';\n" +
      "import { createRequire } from 'node:module';\nconst required = createRequire(process.cwd() + '/')('two-entries');\n" +
      'console.log(OurError === deep.OurError, fail === required.fail);\n';
    writeFileSync(path.join(folder, 'same.mjs'), same);
    expect(run(process.execPath, ['--no-warnings', 'same.mjs'], { cwd: folder })).toBe(
      'true true\n',
    );
    expect(path.basename(require.resolve(manifest.name))).toBe('index.cjs');
    expect(existsSync(path.join(folder, 'dist/error.js'))).toBe(false);
    expect(existsSync(path.join(folder, 'dist/error.d.ts'))).toBe(true);
    const types = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')).exports[
      './deep'
    ];
    expect(types.require.types).toBe('./dist/deep/index.d.cts');
    expect(existsSync(path.join(folder, types.require.types))).toBe(true);
  });

  it('has no file beside an entry that only passes on what others share with it', async () => {
    const dist = path.join(
      await bundled(
        twoEntries({ ...SOURCES, 'index.ts': "export { OurError } from './error.js';\n" }),
      ),
      'dist',
    );
    expect(readFileSync(path.join(dist, 'index.js'), 'utf8')).toContain('OurError');
    const names = readdirSync(dist, { recursive: true, encoding: 'utf8' });
    expect(names.filter((name) => name.endsWith('.js')).sort()).toEqual([
      'deep/index.js',
      'index.js',
    ]);
    const { OurError } = await import(path.join(dist, 'index.js'));
    expect((await import(path.join(dist, 'deep/index.js'))).OurError).toBe(OurError);
  });

  it('has no source maps where it is published', async () => {
    const dist = path.join(await bundled(twoEntries()), 'dist');
    expect(existsSync(path.join(dist, 'index.js.map'))).toBe(false);
    expect(readFileSync(path.join(dist, 'index.js'), 'utf8')).not.toContain('sourceMappingURL');
  });

  it('leads stacks of tests to the sources', async () => {
    const folder = await bundled(twoEntries(), { maps: true });
    const map = JSON.parse(readFileSync(path.join(folder, 'dist/index.js.map'), 'utf8'));
    expect(map.sources).toContain('../src/index.ts');
    expect(map.sourcesContent).toBeUndefined();
  });

  it('has a second bundle for browsers, with what the field browser names', async () => {
    const before = twoEntries({
      ...SOURCES,
      'leaf.ts': "import { readFileSync } from 'node:fs';\nexport const leaf = readFileSync;\n",
      'browser/leaf.ts': "export const leaf = 'a twin';\n",
      'index.ts':
        "import { inspect } from 'node:util';\nimport { leaf } from './leaf.js';\nexport const all = [inspect, leaf];\n",
    });
    Object.assign(before.manifest, {
      browser: { './dist/leaf.js': './dist/browser/leaf.js', 'node:util': 'twins-of-node' },
    });
    const folder = await bundled(before);
    const written = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
    expect(written.browser).toBeUndefined();
    expect(Object.keys(written.exports['./deep'])).toEqual(['browser', 'import', 'require']);
    const { browser, import: node } = written.exports['.'];
    expect(browser).toEqual({ types: './dist/index.d.ts', default: './dist/browser/index.js' });
    const [page, own] = [browser, node].map((one) =>
      readFileSync(path.join(folder, one.default), 'utf8'),
    );
    expect(page).toMatch(/^Symbol\.dispose \?\?= /);
    expect(page).toMatch(/a twin/);
    expect(page).toMatch(/from ["']twins-of-node["']/);
    expect(page).not.toMatch(/node:/);
    expect(own).toMatch(/node:fs/);
  });

  it('refuses for browsers what the field browser has forgotten', async () => {
    const before = twoEntries({
      ...SOURCES,
      'index.ts': "export { readFileSync } from 'node:fs';\n",
    });
    Object.assign(before.manifest, { browser: { 'node:util': 'twins-of-node' } });
    await expect(bundled(before)).rejects.toThrow('node:fs');
  });

  it('refuses what the package does not depend on', async () => {
    const undeclared = {
      ...SOURCES,
      'error.ts': "import { a } from 'undeclared';\nexport const OurError = a;\n",
    };
    await expect(bundled(twoEntries(undeclared))).rejects.toThrow('undeclared');
  });

  it('refuses import.meta in an entry that is two folders deep, where it would name another place', async () => {
    const deep = { ...SOURCES, 'deep/index.ts': 'export const OurError = import.meta.url;\n' };
    await expect(bundled(twoEntries(deep))).rejects.toThrow('deep/index.js reads import.meta.url');
  });
});
