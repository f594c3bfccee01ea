import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { artifactTrouble } from '../artifact-check.js';
import type { Entry } from '../store/entries.js';
import type { CacheCounters, CacheWarning } from '../types.js';
import { readIndex, readKernel, type BundleIndex } from './bundle-file.js';

/** The name of the file with the kernels of a target. */
export const bundleFile = (target: string): string => `${target}.kernels`;

interface Bundle {
  readonly path: string;
  readonly index: BundleIndex;
}

/**
 * Kernels that were compiled elsewhere, in files that are only read. A file or a kernel that is damaged, or is for something else, is left
 * out with a warning, and the kernel is compiled.
 */
export class KernelBundles {
  readonly #folders: () => readonly string[];
  readonly #counters: CacheCounters;
  readonly #onWarning: (warning: CacheWarning) => void;
  #found: readonly string[] | undefined;
  /** By target; each file is opened once. */
  readonly #bundles = new Map<string, Promise<readonly Bundle[]>>();

  constructor(
    folders: () => readonly string[],
    counters: CacheCounters,
    onWarning: (warning: CacheWarning) => void,
  ) {
    this.#folders = folders;
    this.#counters = counters;
    this.#onWarning = onWarning;
  }

  /** The folders that are there. */
  folders(): readonly string[] {
    this.#found ??= this.#folders();
    return this.#found.filter(existsSync);
  }

  /** Whether there is a file for a target. */
  hasTarget(target: string): boolean {
    return this.#paths(target).length > 0;
  }

  /** Whether a kernel is listed. */
  async has(target: string, key: string): Promise<boolean> {
    return (await this.#of(target)).some(({ index }) => index.entries.has(key));
  }

  /** The kernel of the first file that has it whole. */
  async read(target: string, key: string): Promise<Entry | undefined> {
    for (const { path, index } of await this.#of(target)) {
      try {
        const entry = await readKernel(path, index, key);
        if (entry === undefined) continue;
        const trouble = artifactTrouble(target, entry.binary);
        if (trouble === undefined) return entry;
        this.#warn(path, `a kernel in it is not for ${target}: ${trouble}`);
      } catch (error) {
        this.#warn(path, `a kernel in it cannot be read: ${textOf(error)}`);
      }
      this.#counters.bundleCorrupt++;
    }
    return undefined;
  }

  #paths(target: string): readonly string[] {
    return this.folders()
      .map((folder) => join(folder, bundleFile(target)))
      .filter(existsSync);
  }

  #of(target: string): Promise<readonly Bundle[]> {
    let found = this.#bundles.get(target);
    if (found === undefined) {
      found = this.#open(target);
      this.#bundles.set(target, found);
    }
    return found;
  }

  async #open(target: string): Promise<readonly Bundle[]> {
    const bundles: Bundle[] = [];
    for (const path of this.#paths(target)) {
      try {
        const index = await readIndex(path);
        if (index.target === target) bundles.push({ path, index });
        else this.#warn(path, `it holds kernels for ${index.target}`);
      } catch (error) {
        this.#warn(path, textOf(error));
      }
    }
    return bundles;
  }

  #warn(path: string, why: string): void {
    this.#onWarning({
      code: 'BUNDLE_DAMAGED',
      message: `Kernels are compiled although ${path} was to have them: ${why}. Install or write it anew, or set MERCER_KERNELS=off.`,
    });
  }
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
