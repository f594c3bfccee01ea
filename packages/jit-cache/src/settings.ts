import process from 'node:process';
import { describeValue } from '@mercer/options';
import type { System } from './store/system.js';
import type { CacheMode, CacheOptions, CacheWarning } from './types.js';

const DEFAULT_BYTES = 2 ** 30;
const LEAST_BYTES = 2 ** 18;

/** Options with the environment and the defaults filled in. */
export interface Settings {
  readonly mode: CacheMode;
  readonly maxBytes: number;
  readonly directory: string | undefined;
  readonly generator: string;
  readonly bundles: readonly string[] | undefined;
  readonly onWarning: (warning: CacheWarning) => void;
}

const emitted = new Set<string>();

/** The same trouble is told once per thread, however many caches meet it. */
function emitOnce({ code, message }: CacheWarning): void {
  if (emitted.has(message)) return;
  emitted.add(message);
  process.emitWarning(message, { type: 'MercerCacheWarning', code: `MERCER_CACHE_${code}` });
}

function isMode(value: string): value is CacheMode {
  return value === 'rw' || value === 'ro' || value === 'off';
}

/** Fills in the environment and the defaults. A wrong value is warned of and not used. */
export function openSettings(options: CacheOptions, system: System): Settings {
  const onWarning = options.onWarning ?? emitOnce;
  const named = options.mode ?? (system.env['MERCER_CACHE'] || 'rw');
  if (!isMode(named)) {
    onWarning({
      code: 'INVALID_SETTING',
      message: `The compile cache is used as usual: MERCER_CACHE=${typeof named === 'string' ? named : describeValue(named)} is none of rw, ro, off. Correct or unset it.`,
    });
  }
  const bytes = options.maxBytes ?? DEFAULT_BYTES;
  return {
    mode: isMode(named) ? named : 'rw',
    maxBytes: Math.max(LEAST_BYTES, Number.isFinite(bytes) ? Math.floor(bytes) : DEFAULT_BYTES),
    directory: options.directory,
    generator: options.generator ?? '',
    bundles: options.bundles,
    onWarning,
  };
}
