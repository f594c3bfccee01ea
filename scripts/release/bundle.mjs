// Turns the modules of a package into what is published: one ES module for each entry, with what several entries share in chunks
// beside them, so that every class exists once; and for CommonJS a file that requires the ES module, with types.
// Tests also ask for source maps, without the texts of the sources; published packages have none, since the sources that they name are not there. Other packages stay imports, so that each is installed once and has a version of its own. Where package.json names
// modules that browsers replace, or Node loads a part of the package later, there is a second bundle, which bundlers find by the condition
// `browser`.
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { rolldown } from 'rolldown';
import { LATER, laterPlugin, sourceFileOf } from './later.mjs';
import { uniteEntry, uniteShared } from './one-file.mjs';
import { withPureCalls } from './pure-calls.mjs';

/** Files that nobody imports by name: the command, and a worker thread. */
const STARTED = /** @type {Record<string, string[]>} */ ({
  '@mercer/cli': ['./dist/main.js'],
  '@mercer/linalg': ['./dist/fallback/worker.js'],
});

/** What is at another place once it is published: modules, by package, and the imports that stand for them. */
const PUBLISHED = /** @type {Record<string, Record<string, string>>} */ ({
  '@mercer/cpu-runtime': { './dist/browser/built-file.js': '@mercer/cpu-runtime-wasm/url' },
});

/**
 * What becomes part of a package: needed by one file that is started, alone. Its licence is in THIRD-PARTY.md.
 * @type {Record<string, string[]>}
 */
export const INSIDE = {
  '@mercer/linalg': [
    'ml-matrix',
    'is-any-array',
    'ml-array-rescale',
    'ml-array-max',
    'ml-array-min',
  ],
};

/** Of these the ES modules become part, of which a bundler takes what is used; what the name imports is all in one. */
const MODULES = { 'ml-matrix': 'ml-matrix/src/index.js' };

/**
 * @typedef {{ name: string, exports: Record<string, any>, main?: string, types?: string, browser?: Record<string, string>,
 *   dependencies?: Record<string, string>, peerDependencies?: Record<string, string> }} Manifest
 */

/** @param {Manifest} manifest @returns {string[]} the entries that are imported, as they stand in the manifest */
function importedEntries({ exports }) {
  return Object.values(exports).flatMap((target) => target.default ?? []);
}

/** What stays an import: the declared dependencies and their entries. Node's own modules stay as well; anything else is an error. */
function dependenciesOf(/** @type {Manifest} */ { name, dependencies, peerDependencies }) {
  return Object.keys({ ...dependencies, ...peerDependencies })
    .filter((one) => !INSIDE[name]?.includes(one))
    .map((one) => new RegExp(`^${one}(/[^?]*)?$`));
}

/**
 * Reads the field `browser` as bundlers do, of the sources: modules of the package by other modules of it, Node's own by imports.
 * @param {string} source @param {Manifest} manifest @returns {import('rolldown').Plugin}
 */
function browserModules(source, { name, browser = {} }) {
  const replaced = { ...browser, ...PUBLISHED[name] };
  const sourceOf = (/** @type {string} */ built) =>
    path.join(source, built.replace('./dist/', 'src/').replace(/\.js$/, '.ts'));
  return {
    name: 'browser-modules',
    resolveId(id, importer) {
      if (importer === undefined) return null;
      const key = id.startsWith('.')
        ? `./${path.relative(source, path.resolve(path.dirname(importer), id)).replace(/^src/, 'dist')}`
        : id;
      const target = replaced[key];
      if (target === undefined) return null;
      return target.startsWith('./') ? sourceOf(target) : { id: target, external: true };
    },
  };
}

/** Takes the compiler's modules away; its declarations stay. */
function removeModules(/** @type {string} */ dist) {
  for (const entry of readdirSync(dist, { withFileTypes: true, recursive: true })) {
    if (entry.isFile() && !entry.name.endsWith('.d.ts'))
      rmSync(path.join(entry.parentPath, entry.name));
  }
}

/** Modules of other projects, but for those that are meant to be inside. */
function refuseUndeclared(
  /** @type {Manifest} */ { name },
  /** @type {readonly (import('rolldown').OutputChunk | import('rolldown').OutputAsset)[]} */ output,
) {
  for (const chunk of output) {
    for (const id of chunk.type === 'chunk' ? chunk.moduleIds : []) {
      const project = /.*\/node_modules\/((@[^/]+\/)?[^/]+)\//.exec(id)?.[1];
      if (project && !INSIDE[name]?.includes(project))
        throw new Error(`${name} bundles ${project}, on which it does not depend`);
    }
  }
}

/** The bundler's helpers, which it wrote into a file that all others import, stand in each on the line of that import. */
function inlineHelpers(
  /** @type {string} */ dist,
  /** @type {readonly (import('rolldown').OutputChunk | import('rolldown').OutputAsset)[]} */ output,
) {
  const chunks = output.filter((one) => one.type === 'chunk');
  const helpers = chunks.find(({ name }) => name === 'rolldown-runtime');
  if (!helpers) return;
  const text = helpers.code
    .split('\n')
    .filter((line) => !/^(import |\/\/|export )/.test(line))
    .map((line) => line.trim())
    .join(' ');
  const importing = /^import (\{.*\} from )?"\.{1,2}\/(.*\/)?rolldown-runtime-.*\.js";$/m;
  for (const { fileName } of chunks) {
    const file = path.join(dist, fileName);
    const code = readFileSync(file, 'utf8');
    writeFileSync(
      file,
      code.replace(importing, (_, names) => (names ? text : '')),
    );
  }
  for (const suffix of ['', '.map'])
    rmSync(path.join(dist, helpers.fileName + suffix), { force: true });
}

/**
 * `require` of an entry. Written as CommonJS, so that TypeScript gives it types under every `module` setting and Node loads the ES
 * module without a warning; both ways lead to the same classes.
 */
function writeCommonJs(/** @type {string} */ folder, /** @type {string} */ entry) {
  const file = path.join(folder, entry);
  const module = `./${path.basename(entry)}`;
  writeFileSync(
    file.replace(/\.js$/, '.cjs'),
    `'use strict';\nmodule.exports = require('${module}');\n`,
  );
  // Before module: node20, TypeScript does not know that Node can require an ES module.
  writeFileSync(file.replace(/\.js$/, '.d.cts'), `// @ts-ignore\nexport * from '${module}';\n`);
}

const nameOf = (/** @type {string} */ entry) => entry.replace(/^\.\/dist\/|\.js$/g, '');

/** @param {string} source @param {Manifest} manifest */
const inputOf = (source, manifest) => ({
  cwd: source,
  external: dependenciesOf(manifest),
  resolve: {
    alias: Object.fromEntries(
      Object.entries(MODULES).map(([name, file]) => [
        name,
        path.join(source, 'node_modules', file),
      ]),
    ),
  },
  transform: { target: 'es2022' },
  // On a busy machine this would be a warning, and warnings are errors.
  checks: { bundlerTimings: false },
  /** @param {string} level @param {{ message: string }} log */
  onLog(level, log) {
    if (level !== 'debug') throw new Error(`bundling ${manifest.name}: ${log.message}`);
  },
});

/**
 * @param {Manifest} manifest @param {boolean} isSplit whether Node requires a part of it later, which browsers cannot
 * @returns {Record<string, string>} by their names, the entries that browsers have of their own, as modules of the checkout
 */
function browserEntries({ exports, browser }, isSplit) {
  const entries = Object.entries(exports).filter(([, target]) => target.default !== undefined);
  const isNamed = entries.some(([, target]) => target.browser !== undefined);
  const hasAll = browser !== undefined || (isSplit && !isNamed);
  return Object.fromEntries(
    entries
      .filter(([, target]) => hasAll || target.browser !== undefined)
      .map(([name, target]) => [name, target.browser ?? target.default]),
  );
}

/** Of an entry, where what is published has it for browsers, whose types are those of Node. */
const browserTarget = (/** @type {{ types: string, default: string }} */ target) => ({
  types: target.types,
  default: target.default.replace('./dist/', './dist/browser/'),
});

/** Some browsers lack the symbols of `using`. */
const SYMBOLS = ['dispose', 'asyncDispose']
  .map((name) => `Symbol.${name} ??= Symbol.for('Symbol.${name}');\n`)
  .join('');

/**
 * @param {string} source @param {string} dist @param {Manifest} manifest @param {Record<string, string>} entries
 */
async function bundleForBrowsers(source, dist, manifest, entries) {
  const input = Object.entries(entries).map(([name, entry]) => [
    nameOf(manifest.exports[name].default),
    path.join(source, 'src', `${nameOf(entry)}.ts`),
  ]);
  const build = await rolldown({
    ...inputOf(source, manifest),
    input: Object.fromEntries(input),
    platform: 'browser',
    plugins: [
      browserModules(source, manifest),
      { name: 'pure-calls', renderChunk: (code) => withPureCalls(code) },
    ],
  });
  await build.write({
    dir: path.join(dist, 'browser'),
    banner: SYMBOLS,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    comments: { legal: true, annotation: true, jsdoc: false },
  });
  await build.close();
}

/**
 * @param {string} source the package in this checkout
 * @param {string} folder the same package as pnpm packs it, unpacked: what is published is written there
 * @param {Manifest} manifest of that folder, which is changed
 * @param {{ split?: import('./later.mjs').Split, maps?: boolean }} [options] what an import evaluates; without it, everything.
 *   And whether source maps are written
 */
export async function bundlePackage(source, folder, manifest, { split, maps = false } = {}) {
  const imported = importedEntries(manifest);
  const dist = path.join(folder, 'dist');
  removeModules(dist);
  const later = split && laterPlugin(split, source);
  const browser = browserEntries(manifest, later !== undefined);
  if (Object.keys(browser).length > 0) await bundleForBrowsers(source, dist, manifest, browser);
  const entries = [...imported, ...(STARTED[manifest.name] ?? [])];
  const inputs = entries.map((entry) => [
    nameOf(entry),
    path.join(source, 'src', `${nameOf(entry)}.ts`),
  ]);
  if (later) inputs.push(['later', LATER]);
  const build = await rolldown({
    ...inputOf(source, manifest),
    input: Object.fromEntries(inputs),
    plugins: later ? [later.plugin] : [],
    treeshake: {
      moduleSideEffects: (id, isExternal) =>
        isExternal ? !id.startsWith('node:') && !later?.withoutEffects.includes(id) : undefined,
    },
    platform: 'node',
  });
  const { output } = await build.write({
    dir: dist,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    ...(later && {
      codeSplitting: { groups: [{ name: 'early', test: later.isEarly }] },
    }),
    keepNames: true,
    minifyInternalExports: false,
    // What documents the interface stands in the declarations.
    comments: { legal: true, annotation: true, jsdoc: false },
    sourcemap: maps,
    // Of the sources, which are not published, the map has names and lines.
    sourcemapExcludeSources: true,
    sourcemapPathTransform: (file, map) => {
      if (file.includes('\0')) return `generated:${path.basename(file)}`;
      const inside = path.relative(source, path.resolve(path.dirname(map), sourceFileOf(file)));
      return path.relative(path.dirname(map), path.join(folder, inside));
    },
  });
  await build.close();
  inlineHelpers(dist, output);
  refuseUndeclared(manifest, output);
  for (const chunk of later ? output : []) {
    const wrong = chunk.type === 'chunk' && chunk.name === 'early' && chunk.moduleIds;
    for (const id of wrong || []) {
      if (path.isAbsolute(id) && !later?.isEarly(id))
        throw new Error(`${manifest.name}: an import would evaluate ${id}, which is for later`);
    }
  }
  // package-root.ts and its like are one folder below the package.
  const deep = output.find(
    (one) => one.type === 'chunk' && one.fileName.includes('/') && one.code.includes('import.meta'),
  );
  if (deep)
    throw new Error(`${manifest.name}: ${deep.fileName} reads import.meta.url, two folders deep`);
  if (!uniteEntry(dist, output)) uniteShared(dist, output);
  for (const entry of imported) writeCommonJs(folder, entry);
  manifest.exports = Object.fromEntries(
    Object.entries(manifest.exports).map(([name, target]) => [
      name,
      name in browser
        ? { browser: browserTarget(target), ...withRequire(target) }
        : withRequire(target),
    ]),
  );
  for (const one of INSIDE[manifest.name] ?? []) delete manifest.dependencies?.[one];
  delete manifest.browser;
  const root = manifest.exports['.'];
  manifest.main = root.require.default;
  manifest.types = root.import.types;
}

/** @param {any} target @returns {any} */
function withRequire(target) {
  if (typeof target === 'string') return target;
  const common = (/** @type {string} */ file) =>
    file.replace(/(\.d)?\.[jt]s$/, (_, d) => (d ? '.d.cts' : '.cjs'));
  const { types, default: main } = target;
  return {
    import: { types, default: main },
    require: {
      types: common(target.default.replace(/\.js$/, '.d.ts')),
      default: common(target.default),
    },
  };
}
