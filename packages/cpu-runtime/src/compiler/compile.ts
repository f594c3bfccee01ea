import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { OptionNames } from '@mercer/options';
import { CompileError, CpuRuntimeError } from '../errors.js';
import { readOptions } from '../read-options.js';
import { compilerArguments, type CpuLevel } from './compile-options.js';
import { findCompiler, type CompilerInfo } from './find-compiler.js';
import { withPrivateFolder } from './private-folder.js';
import { runCompiler, type CompilerRun } from './run-compiler.js';

/** One C++ kernel to compile. */
export interface CompileRequest {
  /** C++17 text with `extern "C"` entries; includes at most stdint.h, stddef.h and the intrinsics headers. */
  readonly source: string;
  /** From a closed list, see {@link hostCompileOptions}. */
  readonly options?: readonly string[];
  readonly level: CpuLevel;
  /** The compiler to use; found when left out. */
  readonly compiler?: CompilerInfo;
  /** The compiler is killed after this time from its start, 300,000 ms when left out. */
  readonly timeoutMs?: number;
  /** Ends the compiler, or the wait for its turn; the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Given where the compiler is to keep no process alive; while it is true, others get their turn first. */
  readonly behind?: () => boolean;
}

const REQUEST: OptionNames<CompileRequest> = {
  source: true,
  options: true,
  level: true,
  compiler: true,
  timeoutMs: true,
  signal: true,
  behind: true,
};

export interface CompileResult {
  /** A shared object, for `cpu.loadModule`. */
  readonly binary: Uint8Array;
  /** Warnings of the compiler. */
  readonly log: string;
}

/**
 * Compiles a host kernel in a child process; the event loop stays free. The compiler works in a private folder (mode 0700)
 * that is removed in every case, and reads the source from its standard input. It ends, with all that it started, when this
 * process or worker thread ends, however that happens.
 *
 * @throws CompileError `COMPILE_FAILED` with the log, `COMPILER_BROKEN` when it crashed or wrote nothing, `COMPILE_TIMEOUT`
 * @throws CompilerNotFoundError where there is none
 * @throws CpuRuntimeError `INVALID_ARGUMENT` for a bad level or option; the reason of `signal` when it aborts
 */
export async function compile(request: CompileRequest): Promise<CompileResult> {
  const read = readOptions('compiling a kernel', request, REQUEST);
  const { source, options = [], level, timeoutMs = 300_000, signal, behind } = read;
  if (typeof source !== 'string' || source.includes('\0')) {
    throw new CpuRuntimeError(
      'INVALID_ARGUMENT',
      'compiling a kernel failed: the source must be a string without NUL characters.',
    );
  }
  const flags = compilerArguments(level, options);
  signal?.throwIfAborted();
  const compiler = read.compiler ?? (await findCompiler());
  return inTurn({ signal, behind }, () =>
    withPrivateFolder(async (folder) => {
      signal?.throwIfAborted();
      const output = join(folder, 'kernel.so');
      const prefixMap = `-ffile-prefix-map=${folder}=.`;
      const args = [...compiler.prefix, ...flags, prefixMap, '-o', output, '-'];
      const run = await start(compiler, args, source, {
        folder,
        timeoutMs,
        signal,
        keepsAlive: behind === undefined,
      });
      signal?.throwIfAborted();
      assertSucceeded(compiler, run, source, timeoutMs);
      const binary = await readFile(output).catch((cause: unknown) => {
        throw new CompileError(
          'COMPILER_BROKEN',
          `compiling a kernel failed: ${compiler.path} reported success but wrote no file. Check that it is a compiler, or set CXX to another.`,
          { log: run.log, source, cause },
        );
      });
      return { binary: new Uint8Array(binary), log: run.log };
    }),
  );
}

let compiling = 0;

interface Turn {
  readonly signal: AbortSignal | undefined;
  readonly behind: (() => boolean) | undefined;
}

interface Waiting {
  readonly behind: (() => boolean) | undefined;
  readonly begin: () => void;
}

const waiting: Waiting[] = [];

/** As many compilers at once as there are cores: more would only take memory. What somebody waits for goes first. */
async function inTurn<T>(turn: Turn, body: () => Promise<T>): Promise<T> {
  if (compiling >= availableParallelism()) {
    await placeInLine(turn); // which is handed over
  } else {
    compiling += 1;
  }
  try {
    return await body();
  } finally {
    const urgent = waiting.findIndex(({ behind }) => behind?.() !== true);
    const [next] = waiting.splice(Math.max(0, urgent), 1);
    if (next === undefined) compiling -= 1;
    else next.begin();
  }
}

/** The longest time of a timer. */
const FOREVER_MS = 2 ** 31 - 1;

function placeInLine({ signal, behind }: Turn): Promise<void> {
  return new Promise((resolve, reject) => {
    // the compilers that are waited for may be of those that keep no process alive
    const alive = behind === undefined ? setInterval(() => undefined, FOREVER_MS) : undefined;
    const leave = (): void => {
      clearInterval(alive);
      waiting.splice(waiting.indexOf(place), 1);
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- the reason is the caller's
      reject(signal?.reason);
    };
    const begin = (): void => {
      clearInterval(alive);
      signal?.removeEventListener('abort', leave);
      resolve();
    };
    const place = { behind, begin };
    waiting.push(place);
    signal?.addEventListener('abort', leave);
  });
}

async function start(
  compiler: CompilerInfo,
  args: readonly string[],
  source: string,
  options: Parameters<typeof runCompiler>[3],
): Promise<CompilerRun> {
  try {
    return await runCompiler(compiler.path, args, source, options);
  } catch (cause) {
    throw new CompileError(
      'COMPILER_BROKEN',
      `compiling a kernel failed: ${compiler.path} could not be started. Check the file, or set CXX to another compiler.`,
      { log: '', source, cause },
    );
  }
}

function assertSucceeded(
  compiler: CompilerInfo,
  run: CompilerRun,
  source: string,
  timeoutMs: number,
): void {
  const { status, signal, timedOut, log } = run;
  if (status === 0) return;
  const details = { log, source };
  if (timedOut) {
    throw new CompileError(
      'COMPILE_TIMEOUT',
      `compiling a kernel failed: ${compiler.path} was not done after ${timeoutMs} ms. Raise timeoutMs, or make the kernel smaller.`,
      details,
    );
  }
  if (signal !== null) {
    throw new CompileError(
      'COMPILER_BROKEN',
      `compiling a kernel failed: ${compiler.path} was killed by ${signal}. Look at the memory limit of this machine or container.`,
      details,
    );
  }
  const first = log.split('\n').find((line) => line.includes('error')) ?? log.split('\n')[0] ?? '';
  throw new CompileError(
    'COMPILE_FAILED',
    `compiling a kernel failed: ${compiler.path} ended with status ${status}${first === '' ? ' and said nothing' : `: ${first.trim()}`}. ` +
      'The whole log is in error.log, the text in error.source.',
    details,
  );
}
