import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CliError, usageError } from '../cli-error.js';
import { withTemporaryFolder } from '../files/with-temporary-folder.js';
import { packageRoot } from '../package-root.js';
import { parseProfile, type KernelEvent } from './kernel-event.js';

/** What a profiled program did. */
export interface ProfiledRun {
  readonly events: KernelEvent[];
  /** its exit status; 128 when a signal ended it. */
  readonly exitStatus: number;
  readonly wallMs: number;
}

const BIN = fileURLToPath(new URL('bin/mercer.js', packageRoot));

/**
 * Runs a program with MERCER_PROFILE set and reads what its kernels did. Its output goes to ours;
 * with `quiet` its standard output goes to standard error, so that ours holds nothing but the report.
 */
export async function runProfiled(
  command: readonly string[],
  quiet: boolean,
): Promise<ProfiledRun> {
  const [program, ...args] = resolveProgram(command);
  if (program === undefined) throw usageError('Cannot profile: no command was given. Add one');
  return withTemporaryFolder('mercer-profile-', async (folder) => {
    const file = join(folder, 'launches.jsonl');
    const start = performance.now();
    const exitStatus = await runChild(program, args, file, quiet);
    const wallMs = performance.now() - start;
    return { events: parseProfile(await readText(file)), exitStatus, wallMs };
  });
}

/** Signals that end a program. */
const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** `mercer ...` is this program, and a script's name alone is run by this Node. */
function resolveProgram(command: readonly string[]): readonly string[] {
  const [first = '', ...rest] = command;
  if (first === 'mercer') return [process.execPath, BIN, ...rest];
  if (/\.[cm]?js$/.test(first)) return [process.execPath, first, ...rest];
  return command;
}

function runChild(
  program: string,
  args: readonly string[],
  file: string,
  quiet: boolean,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      stdio: ['inherit', quiet ? 2 : 'inherit', 'inherit'],
      env: { ...process.env, MERCER_PROFILE: file },
    });
    // A terminal's Ctrl-C reaches both; what is sent to this process alone ends the program first, then this process.
    const passOn = (signal: NodeJS.Signals): void => {
      child.kill(signal);
      ended();
      process.kill(process.pid, signal);
    };
    for (const signal of ENDING) process.on(signal, passOn);
    const ended = (): void => {
      for (const signal of ENDING) process.off(signal, passOn);
    };
    child.on('error', (cause) => {
      ended();
      reject(
        new CliError(
          'CANNOT_RUN',
          `Cannot run '${program}': ${cause.message}. Check the name, or give its path.`,
          { cause },
        ),
      );
    });
    child.on('close', (status) => {
      ended();
      resolve(status ?? 128);
    });
  });
}

/** The file exists as soon as the program's first launch is profiled. */
async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw cause;
  }
}
