// Import direction and circles, also of types (.dependency-cruiser.mjs), and the same picture for what the package.json files declare.
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { root, workspacePackages } from '../lib/workspace.mjs';
import { layers } from '../lint/layers.mjs';

let failures = 0;
for (const { name, folder, manifest } of workspacePackages()) {
  const below = layers[folder];
  if (!below) {
    console.log(
      `${name}: not in scripts/lint/layers.mjs. Say there which packages stand below it.`,
    );
    failures += 1;
    continue;
  }
  for (const field of ['dependencies', 'peerDependencies', 'optionalDependencies']) {
    for (const dependency of Object.keys(manifest[field] ?? {})) {
      if (!dependency.startsWith('@mercer/') || below.includes(dependency.slice('@mercer/'.length)))
        continue;
      console.log(`${name}: ${field} names ${dependency}, which is not below it`);
      failures += 1;
    }
  }
}
const cruise = spawnSync(
  path.join(root, 'node_modules/.bin/depcruise'),
  [
    '--config',
    '.dependency-cruiser.mjs',
    '--output-type',
    'err-long',
    ...workspacePackages().map(({ folder }) => `packages/${folder}/src`),
  ],
  { cwd: root, stdio: 'inherit' },
);
process.exitCode = failures > 0 || cruise.status !== 0 ? 1 : 0;
