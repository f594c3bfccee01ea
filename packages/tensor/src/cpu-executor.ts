import process from 'node:process';
import { compilerRemedy, cpu, CpuRuntimeError, type CompilerInfo } from '@mercer/cpu-runtime';
import type { EmittedKernel } from '@mercer/kernels';
import { MercerError } from './mercer-error.js';
import { notice } from './notice.js';

/** What runs kernels on the CPU: text compiled by the C++ compiler of the machine, or the prebuilt interpreter. */
export type CpuExecutor = 'compiled' | 'interpreted';

const WASM_RUNS = 'no native binary fits, and WebAssembly runs';

/** Which executor is in use, and why. */
export interface CpuExecutorChoice {
  readonly executor: CpuExecutor;
  readonly reason:
    'MERCER_CPU' | 'a C++ compiler was found' | 'no C++ compiler was found' | typeof WASM_RUNS;
}

const FORCED: { readonly [named: string]: CpuExecutor } = {
  compiled: 'compiled',
  interpreted: 'interpreted',
  wasm: 'interpreted',
};

let absent: unknown;

/**
 * Which executor the CPU uses: the one that the environment variable MERCER_CPU names, else compiled kernels where a compiler
 * is found, else the interpreter; in WebAssembly that alone (`MERCER_CPU=wasm`, and where no native binary fits). Where none is named,
 * the interpreter also runs calls that it is predicted to finish before the
 * compiler would; prepared calls, and every call under MERCER_CPU=compiled, wait. Results of the two differ in last bits.
 *
 * @throws MercerError INVALID_ARGUMENT where MERCER_CPU names none of them; AddonNotFoundError where neither the native binary nor WebAssembly loads
 *
 * @example
 * ```ts
 * import { cpuExecutor } from '@mercer/tensor';
 *
 * const { executor } = await cpuExecutor();
 * console.log(executor === 'compiled' || executor === 'interpreted'); // true
 * ```
 */
export async function cpuExecutor(): Promise<CpuExecutorChoice> {
  const named = process.env['MERCER_CPU'];
  if (named !== undefined && named !== '') {
    const executor = Object.hasOwn(FORCED, named) ? FORCED[named] : undefined;
    if (executor !== undefined) return { executor, reason: 'MERCER_CPU' };
    throw new MercerError(
      'INVALID_ARGUMENT',
      `choosing how the CPU runs kernels: MERCER_CPU is '${named}'. Set it to compiled, interpreted or wasm, or unset it.`,
    );
  }
  if (cpu.info().level === 'wasm128') return { executor: 'interpreted', reason: WASM_RUNS };
  return (await findCompiler()) === undefined
    ? { executor: 'interpreted', reason: 'no C++ compiler was found' }
    : { executor: 'compiled', reason: 'a C++ compiler was found' };
}

/**
 * Which executors a kernel may have: says once when no compiler was found. What a bundle has needs none, and none is looked for.
 * @internal
 */
export async function executorsForKernels(
  areBundled: () => Promise<boolean>,
): Promise<'either' | CpuExecutor> {
  const isForced = (process.env['MERCER_CPU'] ?? '') !== '';
  if (!isForced && (await areBundled())) return 'either';
  const { executor, reason } = await cpuExecutor();
  if (reason === 'no C++ compiler was found') {
    notice(`CPU kernels are interpreted, because ${reason}`, 'MERCER_CPU=interpreted');
  } else if (reason === WASM_RUNS) {
    notice(
      'the CPU runs WebAssembly, because no native binary fits this machine; native code would be quicker (Linux on x64 or arm64 with glibc 2.28 or newer)',
      'MERCER_CPU=wasm',
    );
  }
  return reason === 'a C++ compiler was found' ? 'either' : executor;
}

/** Nothing where there is none; asked once, since a search that fails starts processes. */
async function findCompiler(): Promise<CompilerInfo | undefined> {
  const where = JSON.stringify([process.env['CXX'], process.env['PATH']]);
  if (absent === where) return undefined;
  try {
    return await cpu.findCompiler();
  } catch (error) {
    if (!(error instanceof CpuRuntimeError) || error.code !== 'COMPILER_NOT_FOUND') throw error;
    absent = where;
    return undefined;
  }
}

/** What a kernel without a program is answered. @internal */
export async function needsCompiler({ name }: EmittedKernel): Promise<MercerError> {
  const { reason } = await cpuExecutor();
  const why =
    reason === 'MERCER_CPU'
      ? `MERCER_CPU is ${String(process.env['MERCER_CPU'])}`
      : `${reason} on this machine`;
  const remedy = reason === 'MERCER_CPU' ? 'Unset MERCER_CPU where there is a compiler. ' : '';
  return new MercerError(
    'UNSUPPORTED',
    `loading ${name}: the interpreter cannot run it, and ${why}. ${remedy}${compilerRemedy}`,
  );
}

/** Whether a compiler was killed because it took too long. @internal */
export function isTooLong(error: unknown): boolean {
  return error instanceof CpuRuntimeError && error.code === 'COMPILE_TIMEOUT';
}

let noticedTooLong = false;

/** Says once that the interpreter computes what took the compiler too long. @internal */
export function noticeTooLong(name: string, timeoutMs: number): void {
  if (noticedTooLong) return;
  noticedTooLong = true;
  process.emitWarning(
    `the interpreter computes ${name}, because the C++ compiler was not done with it after ${timeoutMs} ms. ` +
      "Shorter formulas compile quicker; device('cpu').compileTimeoutMs is the time that it may take.",
    { type: 'MercerNotice', code: 'MERCER_COMPILE_TIMEOUT' },
  );
}
