import {
  JitCache,
  type Artifact,
  type CacheOptions,
  type CompileUnit,
  type GetOptions,
  type Toolchain,
} from '@mercer/jit-cache';
import { MercerError } from './mercer-error.js';

let shared: JitCache | undefined;
let owned = true;

/** The compile cache that all devices of this thread share; opened at first use. */
export function jitCache(): JitCache {
  shared ??= JitCache.open();
  return shared;
}

/**
 * Chooses the compile cache before the first kernel is compiled: options for the shared one, or a cache of the caller's.
 *
 * @throws MercerError INVALID_ARGUMENT once a cache is in use
 *
 * @example
 * ```ts
 * import { configureJitCache } from '@mercer/tensor';
 *
 * configureJitCache({ mode: 'off' }); // memory only
 * ```
 */
export function configureJitCache(options: CacheOptions | JitCache): void {
  if (shared !== undefined) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      'configureJitCache: the cache is in use already. Call it before the first operation that compiles.',
    );
  }
  const given = isCache(options);
  shared = given ? options : JitCache.open(options);
  owned = !given;
}

/** A revoked Proxy is none, and says so by throwing. */
function isCache(value: CacheOptions | JitCache): value is JitCache {
  try {
    return value instanceof JitCache;
  } catch {
    return false;
  }
}

/** Closes the shared cache; the next compile opens it anew. A cache of the caller's is left open. */
export async function closeJitCache(): Promise<void> {
  const closing = shared;
  shared = undefined;
  if (owned) await closing?.close();
  owned = true;
}

const toolchains = new Map<() => Promise<Toolchain>, Promise<Toolchain>>();

/** A toolchain, looked for once; a failed search is repeated by the next call. */
export function toolchainOf(make: () => Promise<Toolchain>): Promise<Toolchain> {
  let found = toolchains.get(make);
  if (found === undefined) {
    found = make();
    toolchains.set(make, found);
    found.catch(() => toolchains.delete(make));
  }
  return found;
}

/** Whether a bundle has kernels for an architecture, so that a GPU is of use without a compiler. Opens no cache for good. */
export function hasKernelsFor(arch: string): boolean {
  return (shared ?? JitCache.open()).hasBundleFor(arch);
}

/**
 * A kernel's binary: out of a bundle, for which no compiler is looked for, else from the cache. `compiler` says with what, and for which
 * target, it is compiled.
 */
export async function binaryOf(
  unit: CompileUnit,
  compiler: () => Promise<readonly [toolchain: Toolchain, target: string]>,
  options: GetOptions,
): Promise<Artifact> {
  const { debug, signal } = options;
  const cache = jitCache();
  const bundled = await cache.bundled(unit, debug === undefined ? {} : { debug });
  signal?.throwIfAborted();
  if (bundled !== undefined) return bundled;
  const [toolchain, target] = await compiler();
  return cache.get(target === unit.target ? unit : { ...unit, target }, toolchain, options);
}
