// Writes one package per native package and platform: release/platform/<name>-linux-x64-gnu, holding the
// addon and nothing that runs at install. Its version is exactly that of the package whose addon it carries. An addon that only
// some versions of Node need says so in `binary.engines`: package managers leave it out elsewhere. Beside them
// the package with OpenBLAS, for cpu-runtime.
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { checkAddon } from '../lib/check-addon.mjs';
import { currentPlatform } from '../lib/platform.mjs';
import { root, workspacePackages } from '../lib/workspace.mjs';
import { writeOpenblasPackage } from '../obtain/openblas.mjs';

/** @param {{ name: string, directory: string }} owner @returns {string} path of the one addon that its build wrote */
export function addonOf({ name, directory }, build = currentPlatform().build) {
  const release = path.join(directory, build);
  const addons = existsSync(release)
    ? readdirSync(release).filter((file) => file.endsWith('.node'))
    : [];
  if (addons.length !== 1)
    throw new Error(`${name} has ${addons.length} addons in ${build}, not one. Run: pnpm build`);
  return path.join(release, String(addons[0]));
}

/**
 * @param {string} target
 * @param {import('../lib/platform.mjs').Platform} [of]
 * @returns {{ owner: string, name: string, version: string, directory: string }[]}
 */
export function writeAddonPackages(target, of = currentPlatform()) {
  const { platform, arch, libc, suffix, build } = of;
  return workspacePackages()
    .filter(({ native }) => native)
    .map((owner) => {
      const addon = addonOf(owner, build);
      checkAddon(addon);
      const name = `${owner.name}-${suffix}`;
      const directory = path.join(target, `${owner.folder}-${suffix}`);
      mkdirSync(directory, { recursive: true });
      const file = path.basename(addon);
      const { version, license, engines, binary, repository, publishConfig } = owner.manifest;
      const manifest = {
        name,
        version,
        description: `The compiled part of ${owner.name} for ${suffix}`,
        license,
        repository,
        engines: binary?.engines ?? engines,
        os: [platform],
        cpu: [arch],
        ...(libc && { libc: [libc === 'gnu' ? 'glibc' : 'musl'] }),
        main: `./${file}`,
        files: [file],
        publishConfig,
      };
      writeFileSync(path.join(directory, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
      writeFileSync(
        path.join(directory, 'README.md'),
        `# ${name}\n\nThe compiled part of \`${owner.name}\` for ${suffix}. Install \`${owner.name}\`, not this.\n`,
      );
      copyFileSync(path.join(root, 'LICENSE'), path.join(directory, 'LICENSE'));
      copyFileSync(addon, path.join(directory, file));
      return { owner: owner.name, name, version, directory };
    });
}

/**
 * Those of this platform with OpenBLAS, and of the others that are named.
 * @returns {{ owner: string, name: string, version: string, directory: string }[]}
 */
export function writePlatformPackages(
  target = path.join(root, 'release/platform'),
  /** @type {readonly import('../lib/platform.mjs').Platform[]} */ others = [],
) {
  rmSync(target, { recursive: true, force: true });
  const addons = [currentPlatform(), ...others].flatMap((of) => writeAddonPackages(target, of));
  const openblas = writeOpenblasPackage(target);
  return openblas ? [...addons, { owner: '@mercer/cpu-runtime', ...openblas }] : addons;
}

if (import.meta.url === pathToFileURL(String(process.argv[1])).href) {
  for (const { name, version, directory } of writePlatformPackages()) {
    console.log(`${name}@${version}  ${path.relative(root, directory)}`);
  }
}
