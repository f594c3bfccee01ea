// The packages of this checkout as a user's project has them: bundled as they are published, in a node_modules folder of their
// own, with the native builds of the checkout. A process that starts from there loads a dozen files instead of a thousand, which
// takes a sixth of the time. The default export is a global set-up of vitest: it writes the folder where sources changed.
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { bundlePackage } from '../release/bundle.mjs';
import { splitWorkspace } from '../release/later.mjs';
import { WASM_PACKAGE, writeWasmTexts } from '../release/wasm-package.mjs';
import { root, workspacePackages } from './workspace.mjs';

export const FOLDER = path.join(root, 'node_modules/.cache/installed');
const STAMP = path.join(FOLDER, '.sources');

/** Absolute path of an installed package. */
function installedPackage(/** @type {string} */ name) {
  return path.join(FOLDER, 'node_modules', name);
}

/** Changes whenever a source, a manifest or the bundling does. */
function sourcesKey() {
  const hash = createHash('sha256').update(process.version);
  const add = (/** @type {string} */ file) => hash.update(`\0${file}\0`).update(readFileSync(file));
  for (const file of [
    'bundle',
    'imports',
    'later',
    'one-file',
    'pure-calls',
    'read-module',
    'wasm-package',
  ])
    add(path.join(root, 'scripts/release', `${file}.mjs`));
  add(path.join(root, 'scripts/lib/installed.mjs'));
  for (const { directory } of workspacePackages()) {
    add(path.join(directory, 'package.json'));
    for (const folder of ['src', 'bin'].map((name) => path.join(directory, name))) {
      if (!existsSync(folder)) continue;
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((file) => /(?<!\.test(-\w+)?)\.[jt]s$/.test(file))
        .sort()
        .forEach((file) => add(path.join(folder, file)));
    }
  }
  return hash.digest('hex');
}

/** Links what a package depends on, but for those of the workspace, which lie beside it. */
function linkDependencies(/** @type {string} */ directory, /** @type {string} */ folder) {
  const from = path.join(directory, 'node_modules');
  const names = existsSync(from)
    ? readdirSync(from).flatMap((name) =>
        name.startsWith('@')
          ? readdirSync(path.join(from, name)).map((inner) => `${name}/${inner}`)
          : name.startsWith('.')
            ? []
            : [name],
      )
    : [];
  const own = new Set(workspacePackages().map(({ name }) => name));
  for (const name of names.filter((one) => !own.has(one))) {
    const link = path.join(folder, 'node_modules', name);
    mkdirSync(path.dirname(link), { recursive: true });
    symlinkSync(path.join(from, name), link);
  }
}

/** Writes the folder anew, unless it is what the sources say. */
export default async function install() {
  const key = sourcesKey();
  if (existsSync(STAMP) && readFileSync(STAMP, 'utf8') === key) return;
  rmSync(FOLDER, { recursive: true, force: true });
  const split = splitWorkspace(workspacePackages());
  for (const { name, directory, manifest } of workspacePackages()) {
    const folder = installedPackage(name);
    mkdirSync(path.join(folder, 'dist'), { recursive: true });
    await bundlePackage(directory, folder, manifest, { split, maps: true });
    writeFileSync(path.join(folder, 'package.json'), JSON.stringify(manifest, null, 2));
    // What is run or read as a program of the package; its native code stays where it is built.
    for (const part of ['bin', 'peers', 'data']) {
      const from = path.join(directory, part);
      if (existsSync(from)) cpSync(from, path.join(folder, part), { recursive: true });
    }
    symlinkSync(path.join(directory, 'build'), path.join(folder, 'build'));
    linkDependencies(directory, folder);
  }
  // Where it is not built yet, this leads nowhere.
  const { file, built } = writeWasmTexts(installedPackage(WASM_PACKAGE));
  symlinkSync(built, file);
  writeFileSync(STAMP, key);
}
