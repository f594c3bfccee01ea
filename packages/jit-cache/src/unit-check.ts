import { CacheError } from './errors.js';
import type { CompileUnit } from './types.js';

function invalid(what: string, fix: string): never {
  throw new CacheError('INVALID_UNIT', `Cannot compile the unit: ${what}. ${fix}`);
}

/** Throws INVALID_UNIT for a unit that no toolchain could take. */
export function checkUnit(unit: CompileUnit): void {
  if (unit.source.length === 0) invalid('its source is empty', 'Give the text to compile.');
  if (!/^[a-z][a-z0-9_-]{1,31}$/.test(unit.target)) {
    invalid(
      `the target ${JSON.stringify(unit.target)} is not a name`,
      'Give one like sm_90a, compute_90 or x86-64-v3.',
    );
  }
  if (unit.names.length === 0) invalid('it names no entry', 'Give the entries you want to launch.');
  for (const { name, value } of unit.options) {
    if (typeof value === 'number' && !Number.isFinite(value)) {
      invalid(`option ${name} is ${value}`, 'Give a finite number.');
    }
  }
}
