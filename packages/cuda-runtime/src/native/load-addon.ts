import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { AddonNotFoundError, type LoadAttempt } from '../errors.js';
import { packageRoot } from '../package-root.js';
import type { Addon } from './addon.js';
import { toError } from './failure.js';

/** The addon and the page through which launches pass their geometry. */
export interface LoadedAddon {
  readonly addon: Addon;
  readonly geometry: Uint32Array;
  readonly path: string;
}

const require = createRequire(import.meta.url);
let outcome: LoadedAddon | AddonNotFoundError | undefined;

/** Loads the compiled part on first use. A failure is remembered and thrown again. */
export function loadAddon(): LoadedAddon {
  outcome ??= tryCandidates();
  if (outcome instanceof AddonNotFoundError) throw outcome;
  return outcome;
}

/** `@mercer/cuda-runtime-linux-x64-gnu`: the name of the package that carries the binary. */
export function platformPackage(): string {
  const libc = process.platform === 'linux' ? `-${isMusl() ? 'musl' : 'gnu'}` : '';
  return `@mercer/cuda-runtime-${process.platform}-${process.arch}${libc}`;
}

function isMusl(): boolean {
  try {
    return readFileSync('/usr/bin/ldd', 'latin1').includes('musl');
  } catch {
    return existsSync('/etc/alpine-release');
  }
}

function tryCandidates(): LoadedAddon | AddonNotFoundError {
  const attempts: LoadAttempt[] = [];
  const local = new URL('build/Release/mercer_cuda.node', packageRoot).pathname;
  for (const path of [platformPackage(), local]) {
    try {
      const addon = require(path) as Addon;
      const geometry = new Uint32Array(addon.initialise(toError));
      return { addon, geometry, path: require.resolve(path) };
    } catch (error) {
      attempts.push({ path, error: firstLine(error) });
    }
  }
  return new AddonNotFoundError(describe(attempts), attempts);
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';
}

function describe(attempts: readonly LoadAttempt[]): string {
  const list = attempts.map(({ path, error }) => `  - ${path}: ${error}`).join('\n');
  return [
    `The compiled part of @mercer/cuda-runtime could not be loaded on ${process.platform}-${process.arch}:`,
    list,
    'Possible remedies:',
    `  1. Install with optional dependencies, so that ${platformPackage()} comes along (npm install --include=optional).`,
    '  2. In a source checkout, build it: pnpm build (needs a C++17 compiler and CMake).',
    '  3. Binaries are built for Linux on x64 and arm64 with glibc 2.28 or newer; there is none for other platforms.',
  ].join('\n');
}
