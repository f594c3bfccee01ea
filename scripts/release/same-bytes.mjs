// Whether a release can be made again: packs twice and compares the tarballs, byte by byte. `pnpm check:same-bytes`, a minute; not in CI.
// What is compiled (addons, precompiled kernels) is taken as the build left it.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { packAll } from './pack.mjs';

/** @returns {Promise<Map<string, string>>} SHA-256 by name */
async function sums() {
  const packed = await packAll('few');
  return new Map(
    packed.map(({ name, tarball }) => [
      name,
      createHash('sha256').update(readFileSync(tarball)).digest('hex'),
    ]),
  );
}

const [first, second] = [await sums(), await sums()];
const differing = [...first].filter(([name, sum]) => second.get(name) !== sum);
for (const [name] of differing) console.log(`differs: ${name}`);
console.log(`${first.size - differing.length} of ${first.size} tarballs have the same bytes`);
process.exitCode = differing.length > 0 ? 1 : 0;
