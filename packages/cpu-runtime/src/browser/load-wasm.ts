import type { Attempt } from '../errors.js';
import type { RawBinding } from '../raw-binding.js';
import { WasmBinding } from '../wasm/wasm-binding.js';
import { builtFile } from './built-file.js';

export const WASM_PACKAGE = '@mercer/cpu-runtime-wasm';

/**
 * The key of a property of `globalThis` by which a program hands the module over before it imports the package: its bytes, or an address to fetch
 * it from.
 */
const GIVEN = Symbol.for('mercer.wasm');

type Loaded = { readonly binding: RawBinding } | { readonly attempts: readonly Attempt[] };

// Whoever imports the package waits for it, because what asks for memory cannot wait.
const loaded = await load();

async function load(): Promise<Loaded> {
  const given = (globalThis as { [GIVEN]?: unknown })[GIVEN] ?? builtFile;
  try {
    const bytes =
      given instanceof ArrayBuffer || ArrayBuffer.isView(given)
        ? new Uint8Array(given as ArrayBuffer)
        : await fetched(String(given));
    return { binding: new WasmBinding(bytes) };
  } catch (error) {
    const path = typeof given === 'object' && !(given instanceof URL) ? 'bytes' : String(given);
    return { attempts: [{ path, error: error instanceof Error ? error.message : String(error) }] };
  }
}

async function fetched(address: string): Promise<Uint8Array<ArrayBuffer>> {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`the server answers ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
}

/** In the place of wasm/load-wasm.ts. */
export const loadWasm = (): Loaded => loaded;
