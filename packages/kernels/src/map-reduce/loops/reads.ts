import { variablesOfAll } from '@mercer/formula';
import type { InputReads } from '../plan-inputs.js';
import type { LoopFormula } from './loop-formula.js';

/** How a formula with loops reads inputs. */
export function readsOfLoops({ loads, gathers = [], values }: LoopFormula): InputReads {
  const names = new Set(variablesOfAll(values));
  const rows = new Set(
    loads
      .filter(({ row, name }) => row === undefined && names.has(name))
      .map(({ position }) => position),
  );
  return {
    isTable: (position) => gathers.some((gather) => gather.position === position),
    isRead: ({ position }) => rows.has(position),
  };
}
