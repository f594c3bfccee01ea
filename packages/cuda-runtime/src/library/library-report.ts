import type { LoadAttempt } from '../errors.js';

/** Whether a library was found, where, and what was tried. */
export interface LibraryReport {
  readonly found: boolean;
  /** The real path of the file in use. */
  readonly path?: string;
  /** `13.0`. */
  readonly version?: string;
  /** Every place tried, in order; the last one's `error` is empty when it was found. */
  readonly attempts: readonly LoadAttempt[];
  /** What to do when it was not found. */
  readonly remedy?: string;
}

/** The report of a failure as lines of text. */
export function describeFailure(what: string, report: LibraryReport): string {
  const list = report.attempts.map(({ path, error }) => `  - ${path}: ${error}`).join('\n');
  return `${what}:\n${list === '' ? '  (nowhere to look)' : list}\n${report.remedy ?? ''}`;
}
