import process from 'node:process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Attempt } from '../errors.js';
import { platformPackage } from '../load-addon.js';

/** Names that the loader knows, best first; the last is the reference implementation or what an alternative put there. */
const SONAMES = [
  'libopenblas.so.0',
  'libmkl_rt.so.2',
  'libmkl_rt.so.1',
  'libopenblas.so',
  'libflexiblas.so.3',
  'libopenblas64_.so.0',
  'libmkl_rt.so',
  'liblapack.so.3',
  'libflame.so',
];

/** How a library was found: named by the variable, in the npm package, in an environment's folder, or by the loader's search. */
export type LapackSource = 'MERCER_BLAS' | 'package' | 'environment' | 'system';

/** A file that may be a BLAS with LAPACK. */
export interface LapackCandidate {
  readonly path: string;
  readonly source: LapackSource;
}

/** What may be a BLAS with LAPACK on this machine, in the order of trying, and where there is none to try. */
export interface Candidates {
  readonly candidates: readonly LapackCandidate[];
  readonly attempts: readonly Attempt[];
}

/** The npm package that carries an OpenBLAS for this machine, where one is published. */
export function openblasPackage(): string {
  return platformPackage('openblas');
}

const require = createRequire(import.meta.url);

/** The value of the package is the path of its library. */
function packagedLibrary(name: string): string | undefined {
  try {
    return require(name) as string;
  } catch {
    return undefined;
  }
}

/**
 * MERCER_BLAS alone where it is set ('none' hides every library), else the npm package with OpenBLAS, the folders of a conda or
 * virtual environment and of oneMKL, and the loader's own search.
 */
export function lapackCandidates(
  env: NodeJS.ProcessEnv = process.env,
  packaged: (name: string) => string | undefined = packagedLibrary,
): Candidates {
  const chosen = env['MERCER_BLAS'];
  if (chosen === 'none') {
    return { candidates: [], attempts: [{ path: 'MERCER_BLAS', error: "it is 'none'" }] };
  }
  if (chosen !== undefined && chosen !== '') {
    return { candidates: [{ path: chosen, source: 'MERCER_BLAS' }], attempts: [] };
  }
  const name = openblasPackage();
  const library = packaged(name);
  const folders = [
    subfolder(env['MKLROOT'], 'lib'),
    subfolder(env['MKLROOT'], 'lib/intel64'),
    subfolder(env['CONDA_PREFIX'], 'lib'),
    subfolder(env['VIRTUAL_ENV'], 'lib'),
  ].filter((folder) => folder !== undefined);
  const files = folders.flatMap((folder) => SONAMES.map((soname) => join(folder, soname)));
  const from = (source: LapackSource, paths: readonly string[]): LapackCandidate[] =>
    paths.map((path) => ({ path, source }));
  return {
    candidates: [
      ...from('package', library === undefined ? [] : [library]),
      ...from('environment', files.filter(existsSync)),
      ...from('system', SONAMES),
    ],
    attempts: library === undefined ? [{ path: name, error: 'it is not installed' }] : [],
  };
}

function subfolder(root: string | undefined, name: string): string | undefined {
  return root === undefined || root === '' ? undefined : join(root, name);
}
