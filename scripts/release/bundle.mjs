// Turns the modules of a package into what is published: one ES module for each entry, with what several entries share in chunks
// beside them, so that every class exists once; source maps that carry the sources; and for CommonJS a file that requires the ES
// module, with types. Other packages stay imports, so that each is installed once and has a version of its own.
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { rolldown } from 'rolldown';

/** Files that nobody imports by name: the command, and a worker thread. */
const STARTED = /** @type {Record<string, string[]>} */ ({
  '@mercer/cli': ['./dist/main.js'],
  '@mercer/linalg': ['./dist/fallback/worker.js'],
});

/**
 * @typedef {{ name: string, exports: Record<string, any>, main?: string, types?: string,
 *   dependencies?: Record<string, string>, peerDependencies?: Record<string, string> }} Manifest
 */

/** @param {Manifest} manifest @returns {string[]} the entries that are imported, as they stand in the manifest */
function importedEntries({ exports }) {
  return Object.values(exports).flatMap((target) => target.default ?? []);
}

/** What stays an import: the declared dependencies and their entries. Node's own modules stay as well; anything else is an error. */
function dependenciesOf(/** @type {Manifest} */ { dependencies, peerDependencies }) {
  return Object.keys({ ...dependencies, ...peerDependencies }).map(
    (name) => new RegExp(`^${name}(/|$)`),
  );
}

/** Takes the compiler's modules away; its declarations stay. */
function removeModules(/** @type {string} */ dist) {
  for (const entry of readdirSync(dist, { withFileTypes: true, recursive: true })) {
    if (entry.isFile() && !entry.name.endsWith('.d.ts'))
      rmSync(path.join(entry.parentPath, entry.name));
  }
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

/**
 * @param {string} source the package in this checkout
 * @param {string} folder the same package as pnpm packs it, unpacked: what is published is written there
 * @param {Manifest} manifest of that folder, which is changed
 */
export async function bundlePackage(source, folder, manifest) {
  const imported = importedEntries(manifest);
  const entries = [...imported, ...(STARTED[manifest.name] ?? [])];
  const nameOf = (/** @type {string} */ entry) => entry.replace(/^\.\/dist\/|\.js$/g, '');
  const dist = path.join(folder, 'dist');
  removeModules(dist);
  const build = await rolldown({
    input: Object.fromEntries(
      entries.map((entry) => [nameOf(entry), path.join(source, 'src', `${nameOf(entry)}.ts`)]),
    ),
    cwd: source,
    platform: 'node',
    external: dependenciesOf(manifest),
    transform: { target: 'es2022' },
    onLog(level, log) {
      if (level !== 'debug') throw new Error(`bundling ${manifest.name}: ${log.message}`);
    },
  });
  const { output } = await build.write({
    dir: dist,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    keepNames: true,
    // What documents the interface stands in the declarations.
    comments: { legal: true, annotation: true, jsdoc: false },
    sourcemap: true,
    // As if the sources lay beside dist: their text is in the map.
    sourcemapPathTransform: (file, map) => {
      const inside = path.relative(source, path.resolve(path.dirname(map), file));
      return path.relative(path.dirname(map), path.join(folder, inside));
    },
  });
  await build.close();
  // package-root.ts and its like are one folder below the package.
  const deep = output.find(
    (one) => one.type === 'chunk' && one.fileName.includes('/') && one.code.includes('import.meta'),
  );
  if (deep)
    throw new Error(`${manifest.name}: ${deep.fileName} reads import.meta.url, two folders deep`);
  for (const entry of imported) writeCommonJs(folder, entry);
  manifest.exports = Object.fromEntries(
    Object.entries(manifest.exports).map(([name, target]) => [name, withRequire(target)]),
  );
  const root = manifest.exports['.'];
  manifest.main = root.require.default;
  manifest.types = root.import.types;
}

/** @param {any} target */
function withRequire(target) {
  if (typeof target === 'string') return target;
  const common = (/** @type {string} */ file) =>
    file.replace(/(\.d)?\.[jt]s$/, (_, d) => (d ? '.d.cts' : '.cjs'));
  return {
    import: target,
    require: {
      types: common(target.default.replace(/\.js$/, '.d.ts')),
      default: common(target.default),
    },
  };
}
