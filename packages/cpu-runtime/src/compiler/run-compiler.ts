import process from 'node:process';
import type { Buffer } from 'node:buffer';
import { spawn } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import type { Socket } from 'node:net';

/** How a compiler ended. */
export interface CompilerRun {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly timedOut: boolean;
  readonly log: string;
}

const maxLogBytes = 1 << 20;

// What users set for their own builds must not change ours.
const dropped = [
  'CPATH',
  'C_INCLUDE_PATH',
  'CPLUS_INCLUDE_PATH',
  'LIBRARY_PATH',
  'DEPENDENCIES_OUTPUT',
  'SUNPRO_DEPENDENCIES',
  'GCC_COMPARE_DEBUG',
];

function environment(folder: string): NodeJS.ProcessEnv {
  const result: NodeJS.ProcessEnv = { ...process.env, LC_ALL: 'C', TMPDIR: folder };
  for (const name of dropped) Reflect.deleteProperty(result, name);
  return result;
}

/**
 * Becomes the compiler ("$@"), with a guard beside it in its process group. The guard reads from descriptor 3, whose other end only
 * this process has: a line says that the compiler is done; the end of the file that this process or worker thread is gone,
 * whatever ended it, SIGKILL too. Then the compiler, all that it started and its folder ("$0") go as well.
 */
const GUARDED = `
(
  trap '' TERM
  if ! read -r done <&3; then
    cd / && kill -TERM 0
    rm -rf -- "$0"
    kill -KILL 0
  fi
) </dev/null >/dev/null 2>&1 &
exec "$@" 3<&-
`;

/** Runs a compiler in `folder`, the source on its standard input. Rejects only when it cannot be started at all. */
export async function runCompiler(
  path: string,
  args: readonly string[],
  source: string,
  options: {
    readonly folder: string;
    /** The compiler, and all that it started, is killed after this time. */
    readonly timeoutMs: number;
    /** The same when it aborts. */
    readonly signal?: AbortSignal | undefined;
    /** False: this process may end before the compiler, which then ends with it. */
    readonly keepsAlive: boolean;
  },
): Promise<CompilerRun> {
  const { folder, timeoutMs, signal, keepsAlive } = options;
  await access(path, constants.X_OK); // the shell would say so in words of its own
  return new Promise((resolve, reject) => {
    const child = spawn('/bin/sh', ['-c', GUARDED, folder, path, ...args], {
      cwd: folder,
      env: environment(folder),
      stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
      detached: true, // its own process group, so that cc1plus and ld end with it
    });
    const guard = child.stdio[3] as Socket;
    let log = '';
    let timedOut = false;
    const endGroup = (): void => {
      if (child.pid === undefined) return;
      try {
        process.kill(-child.pid, 'SIGKILL');
      } catch {
        child.kill('SIGKILL');
      }
    };
    const timer = setTimeout(() => {
      timedOut = true;
      endGroup();
    }, timeoutMs);
    if (!keepsAlive) {
      timer.unref();
      child.unref();
      for (const pipe of child.stdio) (pipe as Socket).unref();
    }
    signal?.addEventListener('abort', endGroup);
    const settle = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', endGroup);
    };
    const collect = (chunk: Buffer): void => {
      if (log.length < maxLogBytes) log += chunk.toString('utf8');
    };
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    child.stdin.on('error', () => undefined); // a compiler that does not read its input: its status says why
    guard.on('error', () => undefined); // it was killed with the others
    child.on('error', (error) => {
      settle();
      reject(error);
    });
    child.on('exit', () => {
      guard.end('done\n');
    });
    child.on('close', (status, ended) => {
      settle();
      // Where the folder was tells nobody anything, and it differs from run to run.
      resolve({ status, signal: ended, timedOut, log: log.replaceAll(`${folder}/`, '') });
    });
    child.stdin.end(source);
    if (signal?.aborted === true) endGroup();
  });
}
