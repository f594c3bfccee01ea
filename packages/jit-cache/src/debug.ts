import process from 'node:process';
import type { DebugOption } from './types.js';

/** Takes one line at a time. */
export type DebugPrinter = (line: string) => void;

function toStderr(line: string): void {
  process.stderr.write(`mercer jit: ${line}\n`);
}

/**
 * The printer that a `debug` option asks for: the given function, stderr for `true` or when
 * MERCER_DEBUG names `jit` (alone or in a list separated by commas), undefined for silence.
 * Whoever loads and launches kernels prints through it too, so that one switch shows all.
 *
 * @example
 * ```ts
 * import { debugPrinter } from '@mercer/jit-cache';
 * const lines: string[] = [];
 * debugPrinter((line) => lines.push(line))?.('launch cdist grid 8,8,1 block 256,1,1');
 * if (lines.length !== 1) throw new Error('nothing was printed');
 * ```
 */
export function debugPrinter(
  option?: DebugOption,
  env: Readonly<Record<string, string | undefined>> = process.env,
): DebugPrinter | undefined {
  if (typeof option === 'function') return option;
  const wanted = option ?? (env['MERCER_DEBUG'] ?? '').split(',').includes('jit');
  return wanted ? toStderr : undefined;
}
