import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { AddonNotFoundError, type Attempt } from './errors.js';
import type { RawBinding } from './raw-binding.js';

const require = createRequire(import.meta.url);

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

/** Name of the package that carries a prebuilt file for this machine: the addon of cpu-runtime, or another. */
export function platformPackage(what = 'cpu-runtime'): string {
  const parts = [process.platform, process.arch, libc()].filter((part) => part !== '');
  return `@mercer/${what}-${parts.join('-')}`;
}

function reason(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split('\n')[0] ?? text;
}

/**
 * Loads the addon: the platform package where it is installed, else the build folder of a source checkout.
 *
 * @throws AddonNotFoundError with every file tried
 */
export function loadAddon(candidates: readonly string[] = defaultCandidates()): RawBinding {
  const attempts: Attempt[] = [];
  for (const path of candidates) {
    try {
      return require(path) as RawBinding;
    } catch (error) {
      attempts.push({ path, error: reason(error) });
    }
  }
  throw new AddonNotFoundError(attempts, [
    `Install the binary for this machine: npm install ${platformPackage()} (an optional dependency that ` +
      `--omit=optional or a lock file made on another platform leaves out).`,
    'In a source checkout build it: pnpm --filter @mercer/cpu-runtime build:native (needs cmake and a C++17 compiler).',
    `Supported are Linux on x64 and arm64 with Node 20.19 or newer; this is ${process.platform} ${process.arch}, Node ${process.versions.node}.`,
  ]);
}

function defaultCandidates(): string[] {
  return [
    platformPackage(),
    fileURLToPath(new URL('../build/Release/mercer_cpu.node', import.meta.url)),
  ];
}
