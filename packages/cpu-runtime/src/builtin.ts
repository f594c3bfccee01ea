import { describeValue, type OptionNames } from '@mercer/options';
import { rawBinding } from './addon.js';
import { checkLevel } from './check-level.js';
import type { CpuLevel } from './compiler/compile-options.js';
import { CpuFunction } from './cpu-module.js';
import { CpuRuntimeError, LapackNotFoundError } from './errors.js';
import { lapack } from './lapack/lapack.js';
import { readOptions } from './read-options.js';
import { cpuInfo } from './report.js';

/** How a built-in function is looked up. */
export interface BuiltinOptions {
  /** Instruction set to run with, at most that of the processor, which is the default. */
  readonly level?: CpuLevel;
}

const BUILTIN_OPTIONS: OptionNames<BuiltinOptions> = { level: true };

/**
 * A function of the addon that streams can run like a compiled kernel. A BLAS and LAPACK is opened for routines that need one alone.
 *
 * @throws LapackNotFoundError
 * @throws CpuRuntimeError SYMBOL_NOT_FOUND, UNSUPPORTED_CPU
 */
export function builtin(name: string, options?: BuiltinOptions): CpuFunction {
  if (typeof name !== 'string') {
    throw new CpuRuntimeError(
      'INVALID_ARGUMENT',
      `looking up a built-in function failed: its name is ${describeValue(name)}. Pass a string.`,
    );
  }
  const what = `looking up the built-in function ${name}`;
  const { level = cpuInfo().level } = readOptions(what, options, BUILTIN_OPTIONS);
  checkLevel(level, what);
  const find = () => rawBinding().builtinFunction(name, level);
  const found = find() ?? (lapack.isAvailable() ? find() : undefined);
  if (found === undefined) {
    const { attempts, remedy = '' } = lapack.report();
    throw new LapackNotFoundError(attempts, remedy);
  }
  const [fn, paramBytes] = found;
  return new CpuFunction(fn, name, paramBytes);
}
