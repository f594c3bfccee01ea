// Whether a release can be made again: packs twice and compares the tarballs, byte by byte. `pnpm check:same-bytes`, a minute; not in CI.
// What is compiled into addons is taken as the build left it; kernels are compiled each time, but few of them. With `--all` it packs all that
// a release has, as `pnpm release:pack` does: an hour for both.
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { LINUX_ARM64 } from '../lib/platform.mjs';
import { run } from '../lib/shell.mjs';
import { packAll } from './pack.mjs';

const isRelease = process.argv.includes('--all');

const sumOf = (/** @type {string} */ file) =>
  createHash('sha256').update(readFileSync(file)).digest('hex');

/** SHA-256 of the files in a tarball. @returns {Map<string, string>} */
function contents(/** @type {string} */ tarball) {
  const folder = mkdtempSync(path.join(tmpdir(), 'mercer-same-'));
  try {
    run('tar', ['-xzf', tarball, '-C', folder]);
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => statSync(path.join(folder, file)).isFile())
      .sort();
    return new Map(files.map((file) => [file, sumOf(path.join(folder, file))]));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** @returns {Promise<Map<string, { sum: string, files: Map<string, string> }>>} by name */
async function sums() {
  const packed = await (isRelease ? packAll('all', [LINUX_ARM64]) : packAll('few'));
  return new Map(
    packed.map(({ name, tarball }) => [name, { sum: sumOf(tarball), files: contents(tarball) }]),
  );
}

const [first, second] = [await sums(), await sums()];
const differing = [...first].filter(([name, { sum }]) => second.get(name)?.sum !== sum);
for (const [name, { files }] of differing) {
  const again = second.get(name)?.files ?? new Map();
  const all = [...new Set([...files.keys(), ...again.keys()])];
  const changed = all.filter((file) => files.get(file) !== again.get(file));
  console.log(`differs: ${name}: ${changed.join(', ') || 'no file, but their order or times'}`);
}
console.log(`${first.size - differing.length} of ${first.size} tarballs have the same bytes`);
process.exitCode = differing.length > 0 ? 1 : 0;
