// How large the packed packages are, and what an install of @mercer/core brings: `node scripts/release/sizes.mjs`, after packing, writes
// bench/results/package-sizes.json, from which the tables of docs/release.md are made.
import { statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { run } from '../lib/shell.mjs';
import { root } from '../lib/workspace.mjs';
import { lastPacked } from './pack.mjs';

/** Bytes of files by what they are for. */
function contents(/** @type {string} */ tarball) {
  const sizes = { code: 0, types: 0, native: 0, other: 0 };
  for (const line of run('tar', ['-tvzf', tarball]).trim().split('\n')) {
    const [, , size, , , name = ''] = line.split(/\s+/);
    const kind = /\.d\.c?ts$/.test(name)
      ? 'types'
      : /\.c?js$/.test(name)
        ? 'code'
        : /\.(node|wasm|kernels)$|\.so/.test(name)
          ? 'native'
          : 'other';
    sizes[kind] += Number(size);
  }
  return sizes;
}

const packages = lastPacked().map(({ name, tarball }) => {
  const manifest = JSON.parse(run('tar', ['-xzOf', tarball, 'package/package.json']));
  const { dependencies = {}, peerDependencies = {}, optionalDependencies = {} } = manifest;
  const sizes = contents(tarball);
  return {
    name,
    packed: statSync(tarball).size,
    unpacked: Object.values(sizes).reduce((sum, one) => sum + one, 0),
    ...sizes,
    needs: [...Object.keys(dependencies), ...Object.keys(peerDependencies)],
    optional: Object.keys(optionalDependencies),
  };
});
const byName = new Map(packages.map((one) => [one.name, one]));

const core = new Set(['@mercer/core']);
for (const name of core) for (const one of byName.get(name)?.needs ?? []) core.add(one);
const sum = (/** @type {'packed' | 'unpacked'} */ what) =>
  [...core].reduce((all, name) => all + (byName.get(name)?.[what] ?? 0), 0);
const others = [...core].filter((name) => !name.startsWith('@mercer/'));

const report = {
  schema: 1,
  suite: 'package-sizes',
  command: 'node scripts/release/sizes.mjs',
  core: { packages: core.size, others, packed: sum('packed'), unpacked: sum('unpacked') },
  packages: packages.map(({ needs: _, optional: __, ...one }) => one),
};
const file = path.join(root, 'bench/results/package-sizes.json');
writeFileSync(file, `${JSON.stringify(report, undefined, 2)}\n`);
console.log(JSON.stringify(report.core));
