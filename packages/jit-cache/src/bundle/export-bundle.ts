import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bundleKey, type KeyFields } from '../key.js';
import { listKeys, readEntry, readKeyJson, type Entry } from '../store/entries.js';
import type { StoreSession } from '../store/store-session.js';
import type { BundleReport } from '../types.js';
import { bundleBytes } from './bundle-file.js';
import { bundleFile } from './kernel-bundles.js';

interface Collected {
  readonly madeWith: Set<string>;
  readonly entries: Map<string, Entry>;
}

/**
 * Writes every kernel of the store that a device can load as it is into files of a folder, one for each target. Of a kernel that several
 * compilers made, that which was used last is taken. The driver finishes PTX by itself, so that PTX is left out.
 */
export async function exportBundles(
  session: StoreSession | undefined,
  folder: string,
): Promise<readonly BundleReport[]> {
  const byTarget = new Map<string, Collected>();
  for (const key of (await session?.read(listKeys)) ?? []) {
    const found = await session?.read((database) => ({
      entry: readEntry(database, key),
      json: readKeyJson(database, key),
    }));
    if (found?.entry.kind !== 'hit') continue;
    const fields = JSON.parse(found.json) as KeyFields;
    if (fields.target.startsWith('compute_')) continue;
    let collected = byTarget.get(fields.target);
    if (collected === undefined) {
      collected = { madeWith: new Set(), entries: new Map() };
      byTarget.set(fields.target, collected);
    }
    const kernel = bundleKey(fields);
    if (collected.entries.has(kernel)) continue;
    collected.madeWith.add(fields.toolchain);
    collected.entries.set(kernel, found.entry.entry);
  }
  await mkdir(folder, { recursive: true });
  const reports: BundleReport[] = [];
  for (const [target, { madeWith, entries }] of [...byTarget].sort(([a], [b]) =>
    a < b ? -1 : 1,
  )) {
    const sorted = new Map([...entries].sort(([a], [b]) => (a < b ? -1 : 1)));
    const bytes = bundleBytes(target, [...madeWith].sort(), sorted);
    const file = join(folder, bundleFile(target));
    // Whole or not at all.
    await writeFile(`${file}.new`, bytes);
    await rename(`${file}.new`, file);
    reports.push({ target, file, kernels: sorted.size, bytes: bytes.length });
  }
  return reports;
}
