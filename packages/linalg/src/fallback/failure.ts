import { MercerError } from '@mercer/options';

/** ml-matrix threw, of matrices that were checked: a fault of its own or of ours. */
export const failure = (routine: string, error = 'no reason given'): MercerError =>
  new MercerError(
    'FAILED',
    `${routine}: ml-matrix, which computes where no LAPACK was found, failed: ${error}. ` +
      'Install a LAPACK (lapack.report() says where it is looked for), or report this.',
  );
