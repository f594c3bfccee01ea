import { createRequire } from 'node:module';
import { delimiter } from 'node:path';
import { platformPackage } from '@mercer/cpu-runtime';

/** The packages that carry kernels for this machine: those of GPUs, and those of its CPU. */
export function bundlePackages(): readonly string[] {
  return ['@mercer/kernels-cuda', platformPackage('kernels')];
}

const require = createRequire(import.meta.url);

/** The value of the package is its folder. */
function packagedFolder(name: string): string | undefined {
  try {
    return require(name) as string;
  } catch {
    return undefined;
  }
}

/**
 * The folders in which bundles are looked for, in this order: those of the option; else those that MERCER_KERNELS lists as PATH does
 * ('off' is none); else the packages of this machine that are installed.
 */
export function bundleFolders(
  given: readonly string[] | undefined,
  env: Readonly<Record<string, string | undefined>>,
  packaged: (name: string) => string | undefined = packagedFolder,
): readonly string[] {
  if (given !== undefined) return given;
  const named = env['MERCER_KERNELS'] ?? '';
  if (named === 'off') return [];
  if (named !== '') return named.split(delimiter).filter((folder) => folder !== '');
  return bundlePackages().flatMap((name) => packaged(name) ?? []);
}
