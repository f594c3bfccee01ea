import { createRequire } from 'node:module';
import { describeValue } from '@mercer/options';
import { misuse } from '../errors.js';
import { packageRoot } from '../package-root.js';

/** Key of the native handle. Private to this copy of the package. */
export const native: unique symbol = Symbol('native handle');

const brandKey = Symbol.for('@mercer/cuda-runtime');

/** Package version, for the error that two copies meet. */
export function packageVersion(): string {
  return (createRequire(packageRoot)('./package.json') as { version: string }).version;
}

/** Base of every object that owns something native. */
export abstract class Owned<H> {
  /** @internal */
  readonly [native]: H;
  /** @internal Kept alive with this object. */
  protected constructor(handle: H) {
    this[native] = handle;
  }

  get [brandKey](): string {
    return packageVersion();
  }

  abstract dispose(): void;

  [Symbol.dispose](): void {
    this.dispose();
  }
}

/** The handle of an object made by this copy of the package; a clear error for anything else. */
export function handleOf<H>(object: { readonly [native]: H }, what: string): H {
  // Arguments may come from JavaScript or from another copy, whatever their type says.
  const handle = (object as { readonly [native]: H } | null | undefined)?.[native];
  if (handle === undefined) throw foreign(object, what);
  return handle;
}

function foreign(object: unknown, what: string): Error {
  const brand: unknown =
    typeof object === 'object' && object !== null ? Reflect.get(object, brandKey) : undefined;
  if (typeof brand === 'string') {
    return misuse(
      'TWO_COPIES',
      `The ${what} was made by another copy of @mercer/cuda-runtime (version ${brand}) than the one it was given to ` +
        `(version ${packageVersion()}). Make both resolve to one installation: npm ls @mercer/cuda-runtime.`,
    );
  }
  return misuse('INVALID_ARGUMENT', `Expected a ${what}, got ${describeValue(object)}.`);
}
