import process from 'node:process';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { AddonNotFoundError, type Attempt } from './errors.js';

interface ReportHeader {
  readonly header?: { readonly glibcVersionRuntime?: string };
}

/** 'gnu' or 'musl' on Linux, '' elsewhere. */
function libc(): string {
  if (process.platform !== 'linux') return '';
  const { report } = process;
  const before = (report as { excludeNetwork?: boolean }).excludeNetwork;
  Object.assign(report, { excludeNetwork: true }); // otherwise it resolves host names
  const { header } = report.getReport() as ReportHeader;
  Object.assign(report, { excludeNetwork: before });
  return header?.glibcVersionRuntime === undefined ? 'musl' : 'gnu';
}

let platform: string | undefined;

/** Operating system, processor and C library: `linux-x64-musl`. */
function thisMachine(): string {
  platform ??= [process.platform, process.arch, libc()].filter((part) => part !== '').join('-');
  return platform;
}

/**
 * Name of the package that carries a prebuilt file for this machine: a package's addon (`cpu-runtime`), a library, kernels.
 *
 * @example
 * ```ts
 * import { platformPackage } from '@mercer/cpu-runtime';
 * console.log(platformPackage('openblas')); // such as @mercer/openblas-linux-x64-gnu
 * ```
 */
export function platformPackage(what: string): string {
  return `@mercer/${what}-${thisMachine()}`;
}

function reason(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split('\n')[0] ?? text;
}

/**
 * Loads the addon of a package: from its platform package where that is installed, else from the build folder of a source
 * checkout.
 *
 * @param name the package's name within the scope, `cpu-runtime`
 * @param from the module of the package that asks, `import.meta.url`: its dependencies are looked through
 * @param built where its build puts the addon, relative to that module
 * @throws AddonNotFoundError with every file tried
 *
 * @example
 * ```ts
 * import { loadAddon } from '@mercer/cpu-runtime';
 *
 * try {
 *   loadAddon('no-such-package', import.meta.url, './none.node');
 * } catch (error) {
 *   console.log(error instanceof Error && error.message); // loading the native part of @mercer/no-such-package failed...
 * }
 * ```
 */
export function loadAddon(name: string, from: string, built: string): unknown {
  const require = createRequire(from);
  const attempts: Attempt[] = [];
  for (const path of [platformPackage(name), fileURLToPath(new URL(built, from))]) {
    try {
      return require(path) as unknown;
    } catch (error) {
      attempts.push({ path, error: reason(error) });
    }
  }
  throw new AddonNotFoundError(`@mercer/${name}`, attempts, [
    `Install the binary for this machine: npm install ${platformPackage(name)} (an optional dependency that ` +
      `--omit=optional or a lock file made on another platform leaves out).`,
    `In a source checkout build it: pnpm build (needs cmake and a C++17 compiler).`,
    `Binaries are built for Linux on x64 and arm64 with glibc 2.28 and Node 20.19 or newer; this is ${thisMachine()}, Node ${process.versions.node}.`,
  ]);
}
