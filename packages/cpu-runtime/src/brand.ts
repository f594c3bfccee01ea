import { createRequire } from 'node:module';
import { describeValue } from '@mercer/options';
import { CpuRuntimeError } from './errors.js';

const brand = Symbol.for('mercer.cpu-runtime.handle');

interface Origin {
  readonly version: string;
  readonly location: string;
}

let version: string | undefined;

/** This copy of the package. The version is read when someone asks. */
const here: Origin = {
  get version() {
    version ??= (createRequire(import.meta.url)('../package.json') as { version: string }).version;
    return version;
  },
  location: import.meta.url,
};

/** Base of every owned object: carries which copy of the package made it. */
export abstract class Branded {
  get [brand](): Origin {
    return here;
  }
}

/**
 * Throws unless `value` is an instance of `type` made by this copy of the package.
 *
 * @throws CpuRuntimeError `TWO_COPIES` naming both versions, else `INVALID_ARGUMENT`
 */
export function assertOwn<T extends Branded>(
  value: unknown,
  type: abstract new (...args: never[]) => T,
  what: string,
): asserts value is T {
  if (value instanceof type) return;
  const origin =
    typeof value === 'object' && value !== null
      ? (value as { [brand]?: Origin })[brand]
      : undefined;
  if (origin !== undefined && origin.location !== here.location) {
    throw new CpuRuntimeError(
      'TWO_COPIES',
      `${what} failed: the ${type.name} comes from another copy of @mercer/cpu-runtime. This is version ` +
        `${here.version} (${here.location}), the object is from version ${origin.version} (${origin.location}). ` +
        `Make both resolve to one copy: npm ls @mercer/cpu-runtime shows who asks for which.`,
    );
  }
  throw new CpuRuntimeError(
    'INVALID_ARGUMENT',
    `${what} failed: expected a ${type.name}, got ${describeValue(value)}.`,
  );
}
