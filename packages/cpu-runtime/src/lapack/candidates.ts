import { existsSync } from 'node:fs';
import { join } from 'node:path';

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

/** What may be a BLAS with LAPACK on this machine, in the order of trying. */
export interface Candidates {
  readonly paths: readonly string[];
  /** Set where MERCER_BLAS decides alone. */
  readonly chosen?: string;
}

/**
 * MERCER_BLAS alone where it is set ('none' hides every library), else the folders of a conda or virtual environment and of
 * oneMKL, then the loader's own search.
 */
export function lapackCandidates(env: NodeJS.ProcessEnv = process.env): Candidates {
  const chosen = env['MERCER_BLAS'];
  if (chosen !== undefined && chosen !== '') {
    return { paths: chosen === 'none' ? [] : [chosen], chosen };
  }
  const folders = [
    subfolder(env['MKLROOT'], 'lib'),
    subfolder(env['MKLROOT'], 'lib/intel64'),
    subfolder(env['CONDA_PREFIX'], 'lib'),
    subfolder(env['VIRTUAL_ENV'], 'lib'),
  ].filter((folder) => folder !== undefined);
  const files = folders.flatMap((folder) => SONAMES.map((name) => join(folder, name)));
  return { paths: [...files.filter((file) => existsSync(file)), ...SONAMES] };
}

function subfolder(root: string | undefined, name: string): string | undefined {
  return root === undefined || root === '' ? undefined : join(root, name);
}
