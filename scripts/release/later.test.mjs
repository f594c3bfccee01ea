import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { run } from '../lib/shell.mjs';
import { bundlePackage } from './bundle.mjs';
import { splitModules } from './later.mjs';

/** @type {string[]} */
const folders = [];
afterEach(() => folders.splice(0).forEach((folder) => rmSync(folder, { recursive: true })));

/** So long that it is worth a file of its own. */
const LONG = `const long = '${'x'.repeat(40_000)}';\n`;

const SOURCES = {
  'index.ts':
    "export { OurError, LIMIT } from './kept.js';\nexport * from './barrel.js';\nexport { registered } from './registry.js';\nimport './effects.js';\n",
  'barrel.ts': "export { fail, twice } from './heavy.js';\n",
  'kept.ts':
    "import { double } from './called.js';\nexport class OurError extends Error {}\nexport const LIMIT = double(21);\n",
  'called.ts': 'export function double(x: number) {\n  return 2 * x;\n}\n',
  'registry.ts': 'export const registered: string[] = [];\n',
  'effects.ts':
    "import { twice } from './heavy.js';\nimport { registered } from './registry.js';\nregistered.push('effects');\nexport const method = { call: (x: number) => twice(x) };\n",
  'heavy.ts': `${LONG}import { LIMIT, OurError } from './kept.js';\nimport { registered } from './registry.js';
const now = registered.push('heavy');
export function fail(): never {\n  throw new OurError('as asked ' + now);\n}
export const twice = (x: number, most = LIMIT) => Math.min(2 * x, most);\n`,
};

/** A package, bundled so that its import evaluates what it must. */
async function bundled(/** @type {Record<string, string>} */ sources, sideEffects = true) {
  const folder = mkdtempSync(path.join(tmpdir(), 'mercer-later-'));
  folders.push(folder);
  const [directory, packed] = [path.join(folder, 'source'), path.join(folder, 'packed')];
  for (const [file, text] of Object.entries(sources)) {
    const target = path.join(directory, 'src', file);
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, text);
  }
  mkdirSync(path.join(packed, 'dist'), { recursive: true });
  writeFileSync(path.join(directory, 'package.json'), JSON.stringify({ sideEffects }));
  const entry = { types: './dist/index.d.ts', default: './dist/index.js' };
  const manifest = { name: 'lazily', type: 'module', sideEffects, exports: { '.': entry } };
  const one = { name: 'lazily', folder: 'lazily', directory, manifest, native: false };
  const split = splitModules([one]);
  await bundlePackage(directory, packed, manifest, { split, maps: true });
  writeFileSync(path.join(packed, 'package.json'), JSON.stringify(manifest));
  return packed;
}

/** What a program that imports it prints. */
function output(/** @type {string} */ folder, /** @type {string} */ text) {
  const program = `import * as all from 'lazily';\n${text}\n`;
  const args = ['--no-warnings', '--input-type=module', '-e', program];
  return run(process.execPath, args, { cwd: folder }).trim();
}

describe('splitModules', () => {
  it('keeps functions for later, with the classes and values that were imported before', async () => {
    const folder = await bundled(SOURCES);
    const text = `
      const { OurError, LIMIT, fail, twice, registered } = all;
      const before = [...registered];
      let error;
      try { fail(); } catch (reason) { error = reason; }
      console.log(JSON.stringify([before, LIMIT, twice(3), twice(30), registered]), error instanceof OurError, error.message);
      console.log(Object.keys(all).join(), fail.name, twice.name, twice.length);`;
    expect(output(folder, text).split('\n')).toEqual([
      '[["effects"],42,6,42,["effects","heavy"]] true as asked 2',
      'LIMIT,OurError,fail,registered,twice fail twice 1',
    ]);
    const [early, later] = ['index.js', 'later.js'].map((name) =>
      readFileSync(path.join(folder, 'dist', name), 'utf8'),
    );
    expect(early).not.toContain('as asked');
    expect(later).toContain('as asked');
  });

  it('leads a stack out of what is loaded later to its source', async () => {
    const folder = await bundled(SOURCES);
    const text =
      'process.setSourceMapsEnabled(true);\ntry { all.fail(); } catch (e) { console.log(e.stack); }';
    expect(output(folder, text)).toMatch(/src.heavy\.ts:6:9/);
  });

  it('leaves out effects that a package says it does not have', async () => {
    const folder = await bundled(SOURCES, false);
    expect(output(folder, 'console.log(all.registered.length)')).toBe('0');
  });

  it('evaluates everything of a package that is short', async () => {
    const folder = await bundled({
      ...SOURCES,
      'heavy.ts': SOURCES['heavy.ts'].slice(LONG.length),
    });
    expect(existsSync(path.join(folder, 'dist/later.js'))).toBe(false);
    expect(output(folder, 'console.log(all.registered.join())')).toBe('heavy,effects');
  });

  it('evaluates a function that the top level calls, by name, by map or in a constructor', async () => {
    const folder = await bundled({
      ...SOURCES,
      'kept.ts': `import { half, third, fourth } from './called.js';\nexport class OurError extends Error {}
class Holder {\n  held = half(4);\n  constructor() {\n    this.#more();\n  }\n  #more() {\n    this.held += [3].map(third)[0]!;\n  }\n}
export const LIMIT = new Holder().held + ((x: number) => fourth(x))(40);\n`,
      'called.ts': `${LONG}export const half = (x: number) => x / 2;\nexport const third = (x: number) => x / 3;\nexport const fourth = (x: number) => x / 4;\n`,
    });
    expect(output(folder, 'console.log(all.LIMIT)')).toBe('13');
  });
});
