import { AddonNotFoundError } from '../errors.js';

/** In the place of load-addon.ts: a page loads no native binaries. */
export function loadAddon(name: string): never {
  throw new AddonNotFoundError(`@mercer/${name}`, [], ['A page runs WebAssembly only.']);
}

export const platformPackage = (what: string): string => `@mercer/${what}-browser`;
