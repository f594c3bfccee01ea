import process from 'node:process';
import { AddonNotFoundError, CpuRuntimeError, type Attempt } from './errors.js';
import { loadAddon } from './load-addon.js';
import type { RawBinding } from './raw-binding.js';
import { loadWasm, WASM_PACKAGE } from './wasm/load-wasm.js';

/** Where the builds of a source checkout are, relative to the sources and to what they are bundled into. */
const BUILT = '../build/Release/mercer_cpu.node';
const BUILT_WASM = '../build/wasm/mercer_cpu.wasm';

let loaded: RawBinding | undefined;
let missed: readonly Attempt[] = [];

/**
 * The addon of this environment, loaded at the first call. The lowest rung; ordinary programs use {@link cpu}.
 *
 * @throws AddonNotFoundError where no binary can be loaded
 * @throws CpuRuntimeError `INVALID_ARGUMENT` where MERCER_CPU_THREADS is no number of threads
 */
export function rawBinding(): RawBinding {
  if (loaded !== undefined) return loaded;
  const threads = threadsFromEnvironment();
  const raw = nativeOrWasm(process.env['MERCER_CPU']);
  raw.setErrorClass(CpuRuntimeError);
  if (threads !== undefined) raw.suggestThreads(threads);
  loaded = raw;
  return raw;
}

/** The addon; the runtime in WebAssembly where it does not load, or where MERCER_CPU asks for that. */
function nativeOrWasm(wanted: string | undefined): RawBinding {
  let missing: AddonNotFoundError | undefined;
  if (wanted !== 'wasm') {
    try {
      return loadAddon('cpu-runtime', import.meta.url, BUILT) as RawBinding;
    } catch (error) {
      if (!(error instanceof AddonNotFoundError) || wanted === 'compiled') throw error;
      missing = error;
    }
  }
  const wasm = loadWasm(import.meta.url, BUILT_WASM);
  if ('binding' in wasm) {
    missed = missing?.attempts ?? [];
    return wasm.binding;
  }
  throw new AddonNotFoundError(
    '@mercer/cpu-runtime',
    [...(missing?.attempts ?? []), ...wasm.attempts],
    missing?.remedies ?? [
      `MERCER_CPU is wasm: install the module, npm install ${WASM_PACKAGE}, or unset the variable.`,
      `In a source checkout build it: node scripts/build-wasm.mjs --required.`,
    ],
  );
}

/** Native binaries that were tried before WebAssembly took their place. */
export function missedBinaries(): readonly Attempt[] {
  return missed;
}

/** Most threads that the pool may be told to have. */
export const maxThreads = 1024;

function threadsFromEnvironment(): number | undefined {
  const text = process.env['MERCER_CPU_THREADS'];
  if (text === undefined || text === '') return undefined;
  const threads = Number(text);
  if (!Number.isInteger(threads) || threads < 1 || threads > maxThreads) {
    throw new CpuRuntimeError(
      'INVALID_ARGUMENT',
      `reading MERCER_CPU_THREADS failed: "${text}" is no number of threads. Set it to an integer from 1 to ${maxThreads}, or unset it.`,
    );
  }
  return threads;
}
