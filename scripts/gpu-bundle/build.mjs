// Writes .gpu/: everything that a Linux x86-64 host with a CUDA driver and toolkit, but without Node, npm or network, needs
// to run the GPU tests, the command and the benchmarks. See docs/gpu-bundle.md.
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { run } from '../lib/shell.mjs';
import { readJson, root, workspacePackages } from '../lib/workspace.mjs';
import { checkAddon } from '../lib/check-addon.mjs';
import { collectDependencies } from './collect-dependencies.mjs';
import { compressFile, digest, format, writeNode } from './compress.mjs';
import { copyPruned } from './copy-pruned.mjs';

const MAX_BYTES = 55 * 1024 * 1024;
const here = import.meta.dirname;
const output = path.join(root, '.gpu');
const app = path.join(output, 'app');

/**
 * What of a workspace package goes along: what it publishes (of dist's tests the GPU ones), the addon, and test/.
 * @param {any} manifest
 */
function keepInPackage(manifest) {
  /** @type {string[]} */
  const published = manifest.files.filter((/** @type {string} */ entry) => !entry.startsWith('!'));
  const tops = new Set(['package.json', 'build', 'test', ...published]);
  return (/** @type {string} */ file) => {
    if (!tops.has(String(file.split('/')[0]))) return false;
    if (/\.test\.js(\.map)?$|\.test-d\./.test(file)) return /\.gpu\.test\.js/.test(file);
    return !/^build\/(?!Release(\/[^/]+\.node)?$)/.test(file);
  };
}

/** Throws when a package is not built for the bundle. */
function checkBuilt(
  /** @type {import('../lib/workspace.mjs').WorkspacePackage} */ { name, directory, native },
) {
  if (!existsSync(path.join(directory, 'dist')))
    throw new Error(`${name} is not built. Run: pnpm build`);
  if (!native) return;
  const release = path.join(directory, 'build/Release');
  const addons = existsSync(release)
    ? readdirSync(release).filter((file) => file.endsWith('.node'))
    : [];
  if (addons.length === 0)
    throw new Error(`${name} has no addon in build/Release. Run: pnpm build`);
  for (const addon of addons) checkAddon(path.join(release, addon));
}

function copyWorkspace() {
  mkdirSync(path.join(app, 'node_modules/@mercer'), { recursive: true });
  for (const entry of workspacePackages()) {
    const { name, folder, directory, manifest } = entry;
    try {
      checkBuilt(entry);
    } catch (error) {
      if (!process.argv.includes('--partial')) throw error;
      console.warn(`--partial: ${/** @type {Error} */ (error).message}`);
      if (!existsSync(path.join(directory, 'dist'))) continue;
    }
    const keep = keepInPackage(manifest);
    copyPruned(directory, path.join(app, 'packages', folder), { name, keep });
    dropSourceMapComments(path.join(app, 'packages', folder, 'dist'));
    symlinkSync(path.join('../../packages', folder), path.join(app, 'node_modules', name));
  }
}

/** The maps stay behind, so nothing may point to them. */
function dropSourceMapComments(/** @type {string} */ folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile() || !entry.name.endsWith('.js')) continue;
    const file = path.join(entry.parentPath, entry.name);
    writeFileSync(
      file,
      readFileSync(file, 'utf8').replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n'),
    );
  }
}

function copyThirdParty() {
  const wanted = ['vitest', 'fast-check'].map((name) => ({ name, from: root }));
  for (const { directory, manifest } of workspacePackages()) {
    const data = Object.keys(manifest.devDependencies ?? {}).filter(
      (name) => name === 'vega-datasets' || name === 'mnist',
    );
    for (const name of [...Object.keys(manifest.dependencies ?? {}), ...data])
      wanted.push({ name, from: directory });
  }
  for (const { name, source, target } of collectDependencies(wanted)) {
    copyPruned(source, path.join(app, target), { name });
  }
}

function copyScripts() {
  writeFileSync(path.join(app, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  copyFileSync(path.join(here, 'vitest.config.mjs'), path.join(app, 'vitest.config.mjs'));
  for (const folder of ['lib', 'gpu-report', 'gpu-bundle']) {
    const source = path.join(root, 'scripts', folder);
    if (existsSync(source)) copyPruned(source, path.join(app, 'scripts', folder), { name: folder });
  }
}

/** Node links the C++ library dynamically; run.sh falls back to these copies on a host that has none. */
function copyRuntimeLibraries() {
  mkdirSync(path.join(app, 'lib'));
  for (const match of run('ldd', [process.execPath]).matchAll(
    /(libstdc\+\+\.so\.6|libgcc_s\.so\.1) => (\/\S+)/g,
  )) {
    const [, name = '', file = ''] = match;
    copyFileSync(realpathSync(file), path.join(app, 'lib', name));
  }
}

function sizeOf(/** @type {string} */ folder) {
  return readdirSync(folder).reduce((sum, file) => sum + statSync(path.join(folder, file)).size, 0);
}

rmSync(output, { recursive: true, force: true });
mkdirSync(app, { recursive: true });
copyWorkspace();
copyThirdParty();
copyScripts();
copyRuntimeLibraries();

const tar = path.join(output, 'app.tar');
run('tar', [
  '--create',
  '--file',
  tar,
  '--directory',
  app,
  '--owner=0',
  '--group=0',
  '--sort=name',
  '--mtime=@0',
  '.',
]);
rmSync(app, { recursive: true });
const [archive] = await Promise.all([compressFile(tar), writeNode(path.join(output, 'node'))]);
copyFileSync(path.join(here, 'run.sh'), path.join(output, 'run.sh'));
chmodSync(path.join(output, 'run.sh'), 0o755);
const id = digest(archive).slice(0, 16);
writeFileSync(path.join(output, 'id'), `${process.version}-${id}\n`);

const bytes = sizeOf(output);
const mib = (/** @type {number} */ count) => `${(count / 1024 / 1024).toFixed(1)} MiB`;
for (const file of readdirSync(output).sort()) {
  console.log(`${mib(statSync(path.join(output, file)).size).padStart(9)}  .gpu/${file}`);
}
console.log(
  `${mib(bytes).padStart(9)}  in all (${format}, Node ${process.version}, ${readJson(path.join(root, 'package.json')).packageManager})`,
);
if (bytes > MAX_BYTES)
  throw new Error(`.gpu is ${mib(bytes)}: more than the ${mib(MAX_BYTES)} it may have`);
