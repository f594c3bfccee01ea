import type { Attempt } from '../errors.js';
import type { RawBinding } from '../raw-binding.js';
import { WasmBinding } from '../wasm/wasm-binding.js';
import { builtFile } from './built-file.js';
import { pageHost } from './page-host.js';

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
  const given =
    (globalThis as { [GIVEN]?: URL | string | Uint8Array | ArrayBuffer })[GIVEN] ?? builtFile;
  const isAddress = typeof given === 'string' || given instanceof URL;
  try {
    const bytes = isAddress ? await fetched(given) : given;
    const module = (
      bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : bytes
    ) as Uint8Array<ArrayBuffer>;
    return { binding: new WasmBinding(module, pageHost) };
  } catch (error) {
    const path = isAddress ? String(given) : 'the module that was handed over';
    return { attempts: [{ path, error: error instanceof Error ? error.message : String(error) }] };
  }
}

async function fetched(address: URL | string): Promise<Uint8Array> {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`the server answers ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
}

/** In the place of wasm/load-wasm.ts. */
export const loadWasm = (): Loaded => loaded;
