// The packages of this checkout as a user's project has them: bundled as they are published, in a node_modules folder of their
// own, with the native builds of the checkout. A process that starts from there loads a dozen files instead of a thousand, which
// takes a sixth of the time. The default export is a global set-up of vitest: it writes the folder where sources changed.
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { bundlePackage } from '../release/bundle.mjs';
import { splitWorkspace } from '../release/later.mjs';
import { WASM_PACKAGE, writeWasmTexts } from '../release/wasm-package.mjs';
import { root, workspacePackages } from './workspace.mjs';

export const FOLDER = path.join(root, 'node_modules/.cache/installed');
const STAMP = '.sources';

/** Whether the folder is what the sources say. */
function isOf(/** @type {string} */ key) {
  const stamp = path.join(FOLDER, STAMP);
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === key;
}

/** Changes whenever a source, a manifest or the bundling does. */
function sourcesKey() {
  const hash = createHash('sha256');
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

/** Writes the folder anew, unless it is what the sources say: beside its place first, since others may write or read it at the same time. */
export default async function install() {
  const key = sourcesKey();
  if (isOf(key)) return;
  const folder = `${FOLDER}-${process.pid}`;
  await write(folder);
  writeFileSync(path.join(folder, STAMP), key);
  rmSync(FOLDER, { recursive: true, force: true });
  try {
    renameSync(folder, FOLDER);
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    if (!isOf(key)) throw error;
  }
}

async function write(/** @type {string} */ folder) {
  const installed = (/** @type {string} */ name) => path.join(folder, 'node_modules', name);
  const split = splitWorkspace(workspacePackages());
  for (const { name, directory, manifest } of workspacePackages()) {
    const place = installed(name);
    mkdirSync(path.join(place, 'dist'), { recursive: true });
    await bundlePackage(directory, place, manifest, { split, maps: true });
    writeFileSync(path.join(place, 'package.json'), JSON.stringify(manifest, null, 2));
    // What is run or read as a program of the package; its native code stays where it is built.
    for (const part of ['bin', 'peers', 'data']) {
      const from = path.join(directory, part);
      if (existsSync(from)) cpSync(from, path.join(place, part), { recursive: true });
    }
    symlinkSync(path.join(directory, 'build'), path.join(place, 'build'));
    linkDependencies(directory, place);
  }
  // Where it is not built yet, this leads nowhere.
  const { file, built } = writeWasmTexts(installed(WASM_PACKAGE));
  symlinkSync(built, file);
}
