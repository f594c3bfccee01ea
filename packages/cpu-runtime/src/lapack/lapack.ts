import { rawBinding } from '../addon.js';
import { AddonNotFoundError, type Attempt } from '../errors.js';
import { lapackCandidates, openblasPackage, type LapackSource } from './candidates.js';

/** Which BLAS with LAPACK is in use, or why there is none. */
export interface LapackReport {
  readonly found: boolean;
  /** The file in use. */
  readonly path?: string;
  /**
   * How it was found: the variable `MERCER_BLAS` names it, it came as the npm package with OpenBLAS, it lies in the folder of
   * oneMKL or of a conda or virtual environment, or the system's loader knows it. They are tried in this order.
   */
  readonly source?: LapackSource;
  /** 'OpenBLAS', 'MKL', 'BLIS', or 'LAPACK' for one that says nothing of itself. */
  readonly vendor?: string;
  /** Width of its integers: 32 (LP64) or 64 (ILP64). */
  readonly integerBits?: 32 | 64;
  /** What was tried before it, or everything that was tried. */
  readonly attempts: readonly Attempt[];
  /** What to do when none was found. */
  readonly remedy?: string;
  /** The npm package with an OpenBLAS for this machine, where none was found and one is published. */
  readonly packageName?: string;
}

/** Dense linear algebra of a BLAS with LAPACK that is found at run time. Nothing is opened before the first call. */
export interface Lapack {
  /** Is there one? Never throws. */
  isAvailable(): boolean;
  /** Where it is, or what was tried. Never throws; opens the library once for the process. */
  report(): LapackReport;
}

/** Machines for which a package with OpenBLAS is published. */
const PACKAGED = ['@mercer/openblas-linux-x64-gnu'];

function remedyHere(): string {
  const name = openblasPackage();
  const install =
    'Install OpenBLAS (Debian, Ubuntu: apt-get install libopenblas0-pthread; Fedora: dnf install openblas-threads; conda: ' +
    'conda install libopenblas) or oneMKL, or set MERCER_BLAS to the path of a shared library that has BLAS and LAPACK.';
  if (!PACKAGED.includes(name)) return install;
  return `Install the OpenBLAS that belongs to this package: npm install ${name} (an optional dependency that --omit=optional leaves out). Or: ${install}`;
}

let known: LapackReport | undefined;

function report(): LapackReport {
  known ??= open();
  return known;
}

function open(): LapackReport {
  const attempts: Attempt[] = [];
  try {
    const raw = rawBinding();
    const found = lapackCandidates();
    attempts.push(...found.attempts);
    for (const { path, source } of found.candidates) {
      const error = raw.openLapack(path);
      if (error === undefined) return { found: true, source, ...raw.lapackInfo(), attempts };
      attempts.push({ path, error });
    }
  } catch (error) {
    if (!(error instanceof AddonNotFoundError)) throw error;
    attempts.push(...error.attempts);
  }
  const name = openblasPackage();
  return {
    found: false,
    attempts,
    remedy: remedyHere(),
    ...(PACKAGED.includes(name) && { packageName: name }),
  };
}

/**
 * The machine's BLAS and LAPACK.
 *
 * @example
 * ```ts
 * import { lapack } from '@mercer/cpu-runtime';
 *
 * const { found, vendor, source, integerBits, attempts } = lapack.report();
 * console.log(found ? `${vendor} (${source}) with ${integerBits}-bit integers` : attempts);
 * ```
 */
export const lapack: Lapack = {
  isAvailable: () => report().found,
  report,
};
