import { readdirSync } from 'node:fs';
import path from 'node:path';
import { root } from '../lib/workspace.mjs';

/**
 * @param {string} folder relative to the root @param {RegExp} pattern of names
 * @returns {string[]} the files in it and below, relative to the root, in a fixed order
 */
export function filesUnder(folder, pattern) {
  return readdirSync(path.join(root, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && pattern.test(entry.name))
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)))
    .sort();
}
