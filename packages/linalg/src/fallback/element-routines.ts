import type { ElementRoutine } from './element.js';
import { eigenPower } from './powers.js';
import { eigh, lstsq, svd } from './spectra.js';

/** The routines that need a LAPACK, by the names that the native side has for them. */
export const elementRoutines: Readonly<Record<string, ElementRoutine>> = {
  eigh,
  svd,
  lstsq,
  eigen_power: eigenPower,
};
