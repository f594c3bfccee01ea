import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
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

/** An empty folder, removed after the test. */
function emptyFolder() {
  const folder = mkdtempSync(path.join(tmpdir(), 'mercer-later-'));
  folders.push(folder);
  return folder;
}

/** Sources of a package, and what `splitModules` is given of it. */
function written(
  /** @type {string} */ directory,
  /** @type {string} */ name,
  /** @type {Record<string, string>} */ sources,
  /** @type {Record<string, any>} */ manifest,
) {
  for (const [file, text] of Object.entries(sources)) {
    const target = path.join(directory, 'src', file);
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, text);
  }
  const { sideEffects = true } = manifest;
  writeFileSync(path.join(directory, 'package.json'), JSON.stringify({ sideEffects }));
  const whole = { name, type: 'module', exports: { '.': entryOf('index') }, ...manifest };
  return { name, folder: name, directory, manifest: whole, native: false };
}

const entryOf = (/** @type {string} */ file) => ({
  types: `./dist/${file}.d.ts`,
  default: `./dist/${file}.js`,
});

/** A package, bundled so that its import evaluates what it must. */
async function bundled(
  /** @type {Record<string, string>} */ sources,
  sideEffects = true,
  /** @type {Record<string, string>} */ browser = {},
  exports = { '.': entryOf('index') },
) {
  const folder = emptyFolder();
  const [directory, packed] = [path.join(folder, 'source'), path.join(folder, 'packed')];
  const one = written(directory, 'lazily', sources, { sideEffects, browser, exports });
  const { manifest } = one;
  mkdirSync(path.join(packed, 'dist'), { recursive: true });
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

  it('divides a module: what an import does not need of it, functions and their constants, is for later', async () => {
    const sources = {
      'node.ts':
        'export const existsSync = () => false;\nexport const availableParallelism = () => 1;\n',
      'index.ts': "export { Counter, count, reset, table, scaled } from './both.js';\n",
      'both.ts': `${LONG}import { existsSync as isThere } from 'node:fs';
import { availableParallelism } from 'node:os';
let calls = 0;
export const cores = availableParallelism();
export class Counter {
  factor = cores - cores + 2;
  get calls() {\n    return calls;\n  }
  isThere(file: string) {\n    return isThere(file);\n  }
  times(x: number) {\n    return scaled.call(this, x);\n  }
}
/** Gives the variable a value, which the class reads. */
export const count = () => ++calls;
const NAMES = ['one', 'two'].map((name) => 'kept for later: ' + name);
export function table(): string {\n  return NAMES.join();\n}
export const reset = () => {\n  calls = 0;\n  return 'reset';\n};
export function scaled(this: Counter, x: number) {\n  return this.factor * x + 'scaled'.length;\n}\n`,
    };
    const browser = { 'node:fs': './dist/node.js', 'node:os': './dist/node.js' };
    const folder = await bundled(sources, true, browser);
    const text = `
      const { Counter, count, reset, table, scaled } = all;
      const one = new Counter();
      console.log(count(), count(), one.calls, reset(), one.calls, table(), one.times(3), scaled.call(one, 5), one.isThere('/'), one.isThere('/nowhere'), scaled.length);`;
    expect(output(folder, text)).toBe(
      '1 2 2 reset 0 kept for later: one,kept for later: two 12 16 true false 1',
    );
    const files = readdirSync(path.join(folder, 'dist'), { encoding: 'utf8' });
    const textOf = (/** @type {RegExp} */ name) =>
      files
        .filter((file) => name.test(file))
        .map((file) => readFileSync(path.join(folder, 'dist', file), 'utf8'))
        .join('');
    const [early, later] = [textOf(/^(index|early.*)\.js$/), textOf(/^later\.js$/)];
    expect(early).toMatch(/class Counter|Counter = class/);
    expect(early).toContain('++calls');
    expect(early).toContain('calls = 0');
    expect(early).toContain('node:os');
    expect(early).toContain('process.getBuiltinModule("node:fs").existsSync)(');
    expect(early).not.toMatch(/kept for later|this\.factor|from "node:/);
    expect(later).toContain('kept for later');
    expect(later).toContain('this.factor');
    expect(later).not.toContain('class Counter');
  });

  it('is two files, unless what is for later reads a variable that changes, or several entries share what is evaluated', async () => {
    const filesOf = (/** @type {string} */ folder) =>
      readdirSync(path.join(folder, 'dist'), { encoding: 'utf8' })
        .filter((file) => file.endsWith('.js'))
        .map((file) => file.replace(/-.*/, '-'))
        .sort();
    expect(filesOf(await bundled(SOURCES))).toEqual(['index.js', 'later.js']);
    const changing = {
      ...SOURCES,
      'index.ts': `${SOURCES['index.ts']}export { advance, Clock, now } from './clock.js';\n`,
      'clock.ts':
        "let ticks = 0;\nexport const advance = () => ++ticks;\nexport class Clock {\n  ticks = ticks;\n}\nexport const now = () => 'ticks so far: ' + ticks;\n",
    };
    const folder = await bundled(changing);
    expect(filesOf(folder)).toEqual(['early-', 'index.js', 'later.js']);
    const text = 'all.advance(); console.log(all.now(), all.advance(), all.now());';
    expect(output(folder, text)).toBe('ticks so far: 1 2 ticks so far: 2');
  });

  it('is the entry that has all names, of which others pass on theirs', async () => {
    const filesOf = async (/** @type {string} */ more) => {
      const sources = {
        ...SOURCES,
        'more.ts': `${more}export { half } from './half.js';\n`,
        'half.ts': 'export const half = (x: number) => x / 2;\n',
      };
      const exports = { '.': entryOf('index'), './more': entryOf('more') };
      const folder = await bundled(sources, true, {}, exports);
      const text = `const more = await import('lazily/more');
        console.log(more.half(8), all.twice(3), all.LIMIT, Object.keys(all).join(), more.twice === all.twice);`;
      expect(output(folder, text)).toBe(
        `4 6 42 LIMIT,OurError,fail,registered,twice ${more !== ''}`,
      );
      const files = readdirSync(path.join(folder, 'dist'), { encoding: 'utf8' });
      return files.filter((file) => file.endsWith('.js')).map((file) => file.replace(/-.*/, '-'));
    };
    expect((await filesOf("export * from './index.js';\n")).sort()).toEqual([
      'index.js',
      'later.js',
      'more.js',
    ]);
    expect(await filesOf('')).toContain('early-');
  });

  it('calls a function without its stub once it is there', async () => {
    const folder = await bundled(SOURCES);
    const text = `
      const before = all.twice;
      const first = all.twice(3);
      console.log(first, all.twice === before, all.twice(3), before(3), all.twice.name);`;
    expect(output(folder, text)).toBe('6 false 6 6 twice');
  });

  it('imports from other packages what an import needs, and from as few entries as it can', async () => {
    const folder = emptyFolder();
    const packageOf = (
      /** @type {string} */ name,
      /** @type {Record<string, string>} */ sources,
      /** @type {Record<string, any>} */ manifest = {},
    ) => written(path.join(folder, 'sources', name), name, sources, manifest);
    const all = [
      packageOf(
        'pure',
        {
          'index.ts':
            "export class Base {}\nexport const first = (x: number) => x + 1;\nexport const second = (x: number) => 'second ' + x;\n",
        },
        { sideEffects: false },
      ),
      packageOf(
        'passing',
        {
          'index.ts':
            "import { Base as Made } from 'pure';\nexport const Base = Made;\nexport const third = (x: number, y = 2) => x * y;\n",
          'other.ts': "export const fourth = () => 'fourth';\nexport const NAMES = ['other'];\n",
        },
        {
          exports: { '.': entryOf('index'), './other': entryOf('other') },
          sideEffects: false,
          dependencies: { pure: '*' },
        },
      ),
      packageOf('doing', { 'index.ts': 'export const done = { count: 0 };\ndone.count++;\n' }),
      packageOf(
        'top',
        {
          'index.ts': `${LONG}import { Base, third } from 'passing';\nimport { fourth } from 'passing/other';
import { first, second } from 'pure';\nimport { done } from 'doing';
export class Top extends Base {\n  third = (x: number) => third(x);\n  second = (x: number) => second(x);\n  fourth() {\n    return fourth();\n  }\n}
export const START = first(1);\nexport const times = () => 'done: ' + done.count + long.length;\n`,
        },
        { dependencies: { pure: '*', passing: '*', doing: '*' } },
      ),
    ];
    const split = splitModules(all);
    const installed = path.join(folder, 'node_modules');
    for (const { name, directory, manifest } of all) {
      const packed = path.join(installed, name);
      mkdirSync(path.join(packed, 'dist'), { recursive: true });
      await bundlePackage(directory, packed, manifest, { split });
      writeFileSync(path.join(packed, 'package.json'), JSON.stringify(manifest));
    }
    const early = readFileSync(path.join(installed, 'top/dist/index.js'), 'utf8');
    const imports = early.match(/^import .*$/gm)?.map((line) => line.replace(/;$/, ''));
    expect(imports?.sort()).toEqual([
      'import "doing"',
      'import { Base, first, second } from "pure"',
    ]);
    const program = `import { Top, START, times } from 'top';\nimport { Base } from 'passing';\nconst one = new Top();
      console.log(START, one instanceof Base, one.third(4), one.second(5), one.fourth(), times());`;
    const args = ['--no-warnings', '--input-type=module', '-e', program];
    expect(run(process.execPath, args, { cwd: folder }).trim()).toBe(
      '2 true 8 second 5 fourth done: 140000',
    );
  });

  it('refuses a default export', async () => {
    const sources = { 'index.ts': 'export default class Named {}\n' };
    await expect(bundled(sources)).rejects.toThrow(/index\.ts has a default export/);
  });
});
