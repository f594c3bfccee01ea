import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Attempt } from '../errors.js';
import type { RawBinding } from '../raw-binding.js';
import { nodeHost } from './node-host.js';
import { WasmBinding } from './wasm-binding.js';

/** The package with the module, the same one for all platforms. */
export const WASM_PACKAGE = '@mercer/cpu-runtime-wasm';

/**
 * The runtime in WebAssembly, or why there is none.
 *
 * @param from the module that asks, `import.meta.url`
 * @param built where a source checkout builds it (scripts/build-wasm.mjs), relative to that module
 */
export function loadWasm(
  from: string,
  built: string,
): { readonly binding: RawBinding } | { readonly attempts: readonly Attempt[] } {
  const { resolve } = createRequire(from);
  const file = fileURLToPath(new URL(built, from));
  const attempts: Attempt[] = [];
  const files: readonly (readonly [string, () => string])[] = [
    [WASM_PACKAGE, () => resolve(WASM_PACKAGE)],
    [file, () => file],
  ];
  for (const [path, find] of files) {
    try {
      return { binding: new WasmBinding(new Uint8Array(readFileSync(find())), nodeHost) };
    } catch (error) {
      const [line = ''] = String(error instanceof Error ? error.message : error).split('\n');
      attempts.push({ path, error: line });
    }
  }
  return { attempts };
}
