// The packages of this workspace, read from packages/*/package.json.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** Absolute path of the repository root. */
export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

/** Imports a package of this checkout or bundle by its folder, whatever the importing script may depend on. */
export function importPackage(/** @type {string} */ folder) {
  return import(pathToFileURL(path.join(root, 'packages', folder, 'dist/index.js')).href);
}

/** @param {string} file */
export function readJson(file) {
  return JSON.parse(readFileSync(file, 'utf8'));
}

/**
 * Every package under packages/, sorted by folder name.
 * @typedef {{ name: string, folder: string, directory: string, manifest: any, native: boolean }} WorkspacePackage
 * @returns {WorkspacePackage[]}
 */
export function workspacePackages(base = root) {
  return readdirSync(path.join(base, 'packages'))
    .sort()
    .map((folder) => ({ folder, directory: path.join(base, 'packages', folder) }))
    .filter(({ directory }) => existsSync(path.join(directory, 'package.json')))
    .map(({ folder, directory }) => {
      const manifest = readJson(path.join(directory, 'package.json'));
      const native = manifest.scripts?.['build:native'] !== undefined;
      return { name: manifest.name, folder, directory, manifest, native };
    });
}
