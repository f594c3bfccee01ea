// Without a GPU: emits every default kernel again for the devices of the committed report and fails with the list of those
// whose source no GPU has run. A claim about a GPU cannot go stale unseen.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { readJson, root } from '../lib/workspace.mjs';
import { defaultKernelHashes } from './default-kernel-hashes.mjs';

const file = path.resolve(root, process.argv[2] ?? 'bench/results/gpu.json');
const remedy =
  'On a GPU host run `pnpm gpu:report`, or `bash .gpu/run.sh report` from a bundle, and commit the file.';

/** @param {string} message @returns {never} */
function stop(message) {
  console.error(`${message}\n${remedy}`);
  process.exit(1);
}

if (!existsSync(file)) stop(`There is no GPU report at ${path.relative(root, file)}.`);
const report = readJson(file);
const { passed, failed, skipped } = report.tests;
if (failed > 0 || skipped > 0 || passed === 0) {
  stop(
    `The GPU report counts ${passed} passed, ${failed} failed, ${skipped} skipped: all must pass and none be skipped.`,
  );
}

const seen = new Set(
  report.kernels.map((/** @type {any} */ kernel) => `${kernel.arch} ${kernel.sha256}`),
);
const stale = [];
let emitted = 0;
for (const { limits } of report.architectures) {
  for (const { name, arch, sha256 } of await defaultKernelHashes(limits)) {
    emitted += 1;
    if (!seen.has(`${arch} ${sha256}`)) stale.push(`  ${arch}  ${name}`);
  }
}
if (emitted === 0) stop('The GPU report names no architecture, so no kernel can be compared.');
if (stale.length > 0) {
  stop(
    `${stale.length} of ${emitted} default kernels have a source that the GPU report (${report.date}) has not run:\n${stale.join('\n')}`,
  );
}
console.log(
  `${emitted} default kernels, all run on ${report.devices.join(', ')} (driver ${report.driver}, ${passed} tests)`,
);
