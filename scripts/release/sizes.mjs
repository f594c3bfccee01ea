// How large the packed packages are, and what an install of @mercer/core brings: `node scripts/release/sizes.mjs`, after packing, writes
// bench/results/package-sizes.json, from which the tables of docs/release.md are made.
import { statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { LINUX_ARM64 } from '../lib/platform.mjs';
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

const needed = new Set(['@mercer/core']);
for (const name of needed) for (const one of byName.get(name)?.needs ?? []) needed.add(one);
const optional = [...needed].flatMap((owner) =>
  (byName.get(owner)?.optional ?? [])
    .filter((name) => byName.has(name) && !name.endsWith(`-${LINUX_ARM64.suffix}`))
    .map((name) => ({ name, isAddon: name.startsWith(`${owner}-`) })),
);
const sum = (/** @type {readonly string[]} */ names) => {
  const all = names.map((name) => byName.get(name));
  const of = (/** @type {'packed' | 'unpacked'} */ what) =>
    all.reduce((total, one) => total + (one?.[what] ?? 0), 0);
  return { packages: names.length, packed: of('packed'), unpacked: of('unpacked') };
};
const namesOf = (/** @type {boolean} */ isAddon) =>
  optional.filter((one) => one.isAddon === isAddon).map(({ name }) => name);
const others = [...needed].filter((name) => !name.startsWith('@mercer/'));

const report = {
  schema: 1,
  suite: 'package-sizes',
  command: 'node scripts/release/sizes.mjs',
  /** What an install of @mercer/core brings: what it needs, the addons of this platform, and optional packages with BLAS and kernels. */
  core: {
    others,
    needed: sum([...needed]),
    addons: sum(namesOf(true)),
    apart: sum(namesOf(false)),
  },
  packages: packages.map(({ needs: _, optional: __, ...one }) => one),
};
const file = path.join(root, 'bench/results/package-sizes.json');
writeFileSync(file, `${JSON.stringify(report, undefined, 2)}\n`);
console.log(JSON.stringify(report.core));
