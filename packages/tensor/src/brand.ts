import { createRequire } from 'node:module';
import { MercerError } from './mercer-error.js';

/** Carried by every tensor of every copy of this package; the value is that copy's version. */
export const BRAND: unique symbol = Symbol.for('mercer.tensor');

let version: string | undefined;

/** Version of this copy. */
export function packageVersion(): string {
  version ??= (createRequire(import.meta.url)('../package.json') as { version: string }).version;
  return version;
}

/** The error for an object that carries the brand but is not of this copy's class; undefined for one without it. */
export function twoCopies(value: unknown, what: string): MercerError | undefined {
  if (typeof value !== 'object' || value === null || !(BRAND in value)) return undefined;
  return new MercerError(
    'TWO_COPIES',
    `${what}: the tensor was made by another copy of @mercer/tensor (version ${String(value[BRAND])}) than this one (version ${packageVersion()}). Make both resolve to one installation: npm ls @mercer/tensor.`,
  );
}
