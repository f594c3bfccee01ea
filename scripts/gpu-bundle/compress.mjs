// Compression of the bundle's two archives: xz where the machine has it (smaller), else gzip.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { hasProgram, run } from '../lib/shell.mjs';
import { root } from '../lib/workspace.mjs';

const cacheFolder = path.join(root, 'node_modules/.cache/mercer-gpu-bundle');

/** 'xz' or 'gz'. */
export const format = process.argv.includes('--gzip') || !hasProgram('xz') ? 'gz' : 'xz';

const execute = promisify(execFile);

/** Compresses a file in place, on a core of its own; gives the new name. */
export async function compressFile(/** @type {string} */ file, level = 9) {
  if (format === 'xz') await execute('xz', ['-T1', `-${level}`, '-f', file]);
  else await execute('gzip', ['-9', '-n', '-f', file]);
  return `${file}.${format}`;
}

/**
 * Writes a stripped, compressed copy of the running Node to `target` (its extension is added). Compressing takes half a
 * minute, so the result is kept per Node binary under node_modules/.cache.
 */
export async function writeNode(/** @type {string} */ target) {
  const { size, mtimeMs } = statSync(process.execPath);
  const identity = `${process.version} ${process.execPath} ${size} ${mtimeMs} ${format}`;
  const key = createHash('sha256').update(identity).digest('hex').slice(0, 16);
  const cached = path.join(cacheFolder, `node-${process.version}-${key}.${format}`);
  if (!existsSync(cached)) {
    mkdirSync(cacheFolder, { recursive: true });
    const plain = path.join(cacheFolder, `node-${process.pid}`);
    copyFileSync(process.execPath, plain);
    if (hasProgram('strip')) run('strip', [plain]);
    const compressed = await compressFile(plain, 8);
    renameSync(compressed, cached);
    rmSync(plain, { force: true });
  }
  copyFileSync(cached, `${target}.${format}`);
}

/** SHA-256 of a file, in hexadecimal. */
export function digest(/** @type {string} */ file) {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}
