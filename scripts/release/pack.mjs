// Packs what a release would publish into release/tarballs: every package as pnpm packs it (workspace ranges resolved), bundled,
// the native ones with their platform packages added as optional dependencies, and the platform packages themselves; WebAssembly; jit-cache with the
// packages of precompiled kernels. Beside them a list of all components (mercer.cdx.json, CycloneDX). With `--for linux-arm64` also the addons that scripts/linux-arm64.mjs has built.
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { LINUX_ARM64 } from '../lib/platform.mjs';
import { run } from '../lib/shell.mjs';
import { readJson, root, workspacePackages } from '../lib/workspace.mjs';
import { bundlePackage } from './bundle.mjs';
import { splitWorkspace } from './later.mjs';
import { writeKernelPackages } from './kernel-packages.mjs';
import { writeSbom } from './sbom.mjs';
import { writeNotices } from './third-party.mjs';
import { writePlatformPackages } from './platform-packages.mjs';
import { writeWasmPackage } from './wasm-package.mjs';

const tarballs = path.join(root, 'release/tarballs');
const listFile = path.join(tarballs, 'packed.json');

/** @param {string} directory @param {string} program @returns {string} path of the tarball it wrote */
function pack(directory, program) {
  const target = mkdtempSync(path.join(tmpdir(), 'mercer-pack-'));
  const options = program === 'npm' ? ['--ignore-scripts'] : [];
  run(program, ['pack', ...options, '--pack-destination', target], { cwd: directory, quiet: true });
  const file = readdirSync(target).find((name) => name.endsWith('.tgz'));
  if (!file) throw new Error(`${program} pack wrote no tarball for ${directory}`);
  return path.join(target, file);
}

/**
 * Takes a tarball apart, lets `edit` change its files and its package.json, and packs it again.
 * @param {string} tarball @param {(folder: string, manifest: any) => Promise<void>} edit
 */
async function repack(tarball, edit) {
  const folder = path.dirname(tarball);
  run('tar', ['-xzf', tarball, '-C', folder]);
  rmSync(tarball);
  const unpacked = path.join(folder, 'package');
  const manifestFile = path.join(unpacked, 'package.json');
  const manifest = readJson(manifestFile);
  await edit(unpacked, manifest);
  // pnpm writes dependencies in the order in which it has found their versions, another one each time.
  for (const [key, value] of Object.entries(manifest)) {
    if (/dependencies$/i.test(key))
      manifest[key] = Object.fromEntries(Object.entries(value).sort());
  }
  writeFileSync(manifestFile, `${JSON.stringify(manifest, null, 2)}\n`);
  const packed = pack(unpacked, 'npm');
  rmSync(folder, { recursive: true });
  return packed;
}

/**
 * `platform`: compiled files, a dependency of another; `anyPlatform`: the same ones for all platforms.
 * @typedef {{ name: string, tarball: string, platform: boolean, anyPlatform: boolean }} Packed
 */

/** @returns {Packed[]} what the last packAll wrote */
export function lastPacked() {
  return readJson(listFile);
}

/**
 * @param {import('./kernel-packages.mjs').Extent} kernels how many kernels are compiled beforehand: all for a release, which takes many minutes
 * @param {readonly import('../lib/platform.mjs').Platform[]} [others] platforms besides this one whose addons were built
 * @returns {Promise<Packed[]>}
 */
export async function packAll(kernels, others = []) {
  rmSync(tarballs, { recursive: true, force: true });
  mkdirSync(tarballs, { recursive: true });
  const optional = [
    ...writePlatformPackages(undefined, others),
    ...(await writeKernelPackages(path.join(root, 'release/platform'), kernels)),
  ];
  const platforms = [
    ...optional.map((one) => ({ ...one, anyPlatform: false, needed: false })),
    ...writeWasmPackage(path.join(root, 'release/platform')),
  ];
  const keep = (
    /** @type {string} */ name,
    /** @type {string} */ tarball,
    platform = false,
    anyPlatform = false,
  ) => {
    const target = path.join(tarballs, path.basename(tarball));
    run('mv', [tarball, target]);
    rmSync(path.dirname(tarball), { recursive: true });
    return { name, tarball: target, platform, anyPlatform };
  };
  const packages = [];
  const split = splitWorkspace(workspacePackages());
  for (const { name, directory } of workspacePackages()) {
    const own = platforms.filter((entry) => entry.owner === name);
    const bundled = await repack(pack(directory, 'pnpm'), async (folder, manifest) => {
      await bundlePackage(directory, folder, manifest, { split });
      for (const { name: dependency, version, needed } of own) {
        const kind = needed ? 'dependencies' : 'optionalDependencies';
        manifest[kind] = { ...manifest[kind], [dependency]: version };
      }
      writeNotices(folder, manifest);
    });
    packages.push(keep(name, bundled));
  }
  for (const { directory } of platforms) {
    const file = path.join(directory, 'package.json');
    const manifest = readJson(file);
    writeNotices(directory, manifest);
    writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`);
  }
  const packed = [
    ...packages,
    ...platforms.map(({ name, directory, anyPlatform }) =>
      keep(name, pack(directory, 'npm'), true, anyPlatform),
    ),
  ];
  writeSbom(packed, path.join(tarballs, 'mercer.cdx.json'));
  writeFileSync(listFile, JSON.stringify(packed));
  return packed;
}

if (import.meta.url === pathToFileURL(String(process.argv[1])).href) {
  const { values } = parseArgs({ options: { for: { type: 'string', multiple: true } } });
  const others = (values.for ?? []).map((name) => {
    if (name === 'linux-arm64') return LINUX_ARM64;
    throw new Error(`--for takes linux-arm64, not ${name}`);
  });
  for (const { tarball } of await packAll('all', others)) console.log(path.relative(root, tarball));
}
