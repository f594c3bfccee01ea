// Without a GPU: emits every default kernel again for the devices of the committed report and fails with the list of those
// whose source no GPU has loaded. A claim about a GPU cannot go stale unseen.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { readJson, root } from '../lib/workspace.mjs';
import { compareReport } from './compare-report.mjs';
import { defaultKernelHashes } from './default-kernel-hashes.mjs';

const file = path.resolve(root, process.argv[2] ?? 'bench/results/gpu.json');
const shown = path.relative(root, file);
/** @type {string[]} */
let problems = [`there is no such file`];
if (existsSync(file)) {
  const report = readJson(file);
  const result = await compareReport(report, defaultKernelHashes);
  problems = result.problems;
  if (problems.length === 0) {
    console.log(
      `${result.emitted} default kernels, each compiled and loaded on ${[...new Set(report.devices)].join(', ')} ` +
        `(driver ${report.driver}); ${report.tests.passed} GPU tests passed there, which launch many of them, not each; ` +
        'none failed, none was skipped',
    );
  }
}
if (problems.length > 0) {
  console.error(`${shown} does not cover what the code emits:`);
  for (const problem of problems) console.error(`  ${problem}`);
  console.error(
    'On a GPU host run `pnpm gpu:report`, or `bash .gpu/run.sh report` from a bundle, and commit the file.',
  );
  process.exitCode = 1;
}
