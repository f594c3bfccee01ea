import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { posix } from 'node:path';

/** @typedef {import('./run.mjs').Mutant} Mutant */

/**
 * What is known of one mutant: where it was made, the verdict of its last run, when that was, and the tests that failed with it, by file.
 *
 * @typedef {{ package: string, promise: number | string, mutant: string, file: string, verdict: string, date: string,
 *   test: string, killedBy: readonly string[] }} Entry
 */

/** Tests named for each mutant; more say no more. */
const NAMED = 3;

/** A file of a mutant, which is given from a package's `from`, as a path in the repository. */
export const inRepository = (
  /** @type {string} */ folder,
  /** @type {string} */ from,
  /** @type {string} */ file,
) => posix.join('packages', folder, from, file);

/** What identifies a mutant in the record. */
export const keyOf = (
  /** @type {{ package: string, promise: number | string, mutant: string }} */ one,
) => JSON.stringify([one.package, String(one.promise), one.mutant]);

/** @returns {readonly Entry[]} */
export function recorded(/** @type {string} */ file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).mutants : [];
}

/**
 * Writes the results of a run into the record. Mutants of the package that are in its list no more are dropped; those of other packages,
 * and those that did not run, stay as they are.
 *
 * @param {string} file
 * @param {{ package: string, list: readonly Mutant[],
 *   results: readonly { mutant: Mutant, verdict: string, killers: readonly string[] }[] }} run
 */
export function record(file, run) {
  const folder = run.package;
  const date = new Date().toISOString().slice(0, 10);
  const now = run.results.map(
    ({ mutant: { promise, name, file: source, test }, verdict, killers }) =>
      /** @type {Entry} */ ({
        package: folder,
        promise,
        mutant: name,
        file: inRepository(folder, 'src', source),
        verdict,
        date,
        test: inRepository(folder, '.', test),
        killedBy: killers.slice(0, NAMED),
      }),
  );
  const known = new Map([...recorded(file), ...now].map((one) => [keyOf(one), one]));
  const listed = new Set(
    run.list.map(({ promise, name }) => keyOf({ package: folder, promise, mutant: name })),
  );
  const mutants = [...known.values()]
    .filter((one) => one.package !== folder || listed.has(keyOf(one)))
    .sort((a, b) => order(a).localeCompare(order(b)));
  writeFileSync(file, `${JSON.stringify({ mutants }, null, 2)}\n`);
}

const order = (/** @type {Entry} */ one) => `${one.package}\0${one.promise}\0${one.mutant}`;
