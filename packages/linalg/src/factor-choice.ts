import { choice } from './checks.js';
import type { InfoMeaning } from './infos.js';
import type { FactorOption } from './options.js';

/** How a call factors its square matrix, as its routine takes it, and what a positive info means then. */
export interface FactorChoice {
  readonly flags: { readonly cholesky: number; readonly upper: number };
  readonly meaning: InfoMeaning;
}

/** @throws MercerError INVALID_ARGUMENT */
export function factorChoice(what: string, options: FactorOption): FactorChoice {
  const cholesky = choice(what, 'method', options.method, ['lu', 'cholesky']) === 'cholesky';
  const upper = choice(what, 'uplo', options.uplo, ['lower', 'upper']) === 'upper';
  return {
    flags: { cholesky: Number(cholesky), upper: Number(upper) },
    meaning: cholesky ? 'definite' : 'regular',
  };
}
