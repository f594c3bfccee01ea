import type { ElementRoutine } from './element.js';
import type { LapackRoutineName } from '../routines.js';
import { eigenPower } from './powers.js';
import { eigh, lstsq, svd } from './spectra.js';

/** What stands for LAPACK's routines. */
export const elementRoutines: Readonly<Record<LapackRoutineName, ElementRoutine>> = {
  eigh,
  svd,
  lstsq,
  eigenPower,
};
