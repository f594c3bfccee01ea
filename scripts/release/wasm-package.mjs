// Writes the package with the CPU runtime in WebAssembly, the same one for all platforms: @mercer/cpu-runtime-wasm, an ordinary dependency
// of cpu-runtime, so that what leaves optional dependencies out still leaves something that runs.
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { readJson, root } from '../lib/workspace.mjs';

const OWNER = '@mercer/cpu-runtime';
const FILE = 'mercer_cpu.wasm';

/**
 * @param {string} target the folder in which packages are written
 * @returns {{ owner: string, name: string, version: string, directory: string, anyPlatform: boolean, needed: boolean }[]} nothing where it was not built
 */
export function writeWasmPackage(target) {
  const runtime = path.join(root, 'packages/cpu-runtime');
  const built = path.join(runtime, 'build/wasm', FILE);
  if (!existsSync(built)) {
    console.log('left out: the package with WebAssembly. node scripts/build-wasm.mjs says why');
    return [];
  }
  const { version, license, engines, repository, publishConfig } = readJson(
    path.join(runtime, 'package.json'),
  );
  const name = `${OWNER}-wasm`;
  const directory = path.join(target, 'cpu-runtime-wasm');
  mkdirSync(directory, { recursive: true });
  const manifest = {
    name,
    version,
    description: `The compiled part of ${OWNER} in WebAssembly, for where no native binary fits`,
    license,
    repository,
    engines,
    main: `./${FILE}`,
    files: [FILE],
    publishConfig,
  };
  writeFileSync(path.join(directory, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  writeFileSync(
    path.join(directory, 'README.md'),
    `# ${name}\n\nThe compiled part of \`${OWNER}\` in WebAssembly (128-bit SIMD, one thread). It runs where no native binary fits. Install \`${OWNER}\`, not this.\n`,
  );
  copyFileSync(path.join(root, 'LICENSE'), path.join(directory, 'LICENSE'));
  copyFileSync(built, path.join(directory, FILE));
  return [{ owner: OWNER, name, version, directory, anyPlatform: true, needed: true }];
}
