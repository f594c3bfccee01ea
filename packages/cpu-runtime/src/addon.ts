import { CpuRuntimeError } from './errors.js';
import { loadAddon } from './load-addon.js';
import type { RawBinding } from './raw-binding.js';

let loaded: RawBinding | undefined;

/**
 * The addon of this environment, loaded at the first call. The lowest rung; ordinary programs use {@link cpu}.
 *
 * @throws AddonNotFoundError where no binary can be loaded
 * @throws CpuRuntimeError `INVALID_ARGUMENT` where MERCER_CPU_THREADS is no number of threads
 */
export function rawBinding(): RawBinding {
  if (loaded !== undefined) return loaded;
  const threads = threadsFromEnvironment();
  const raw = loadAddon(
    'cpu-runtime',
    import.meta.url,
    '../build/Release/mercer_cpu.node',
  ) as RawBinding;
  raw.setErrorClass(CpuRuntimeError);
  if (threads !== undefined) raw.suggestThreads(threads);
  loaded = raw;
  return raw;
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
