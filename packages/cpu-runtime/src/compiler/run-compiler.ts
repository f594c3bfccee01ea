import { spawn } from 'node:child_process';

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

// One listener for all: a batch compiles many kernels at once.
const running = new Set<() => void>();
let watching = false;

function endWithProcess(end: () => void): void {
  running.add(end);
  if (watching) return;
  watching = true;
  process.once('exit', () => {
    for (const one of running) one();
  });
}

/** Runs a compiler in `folder`, the source on its standard input. Rejects only when it cannot be started at all. */
export function runCompiler(
  path: string,
  args: readonly string[],
  source: string,
  options: {
    readonly folder: string;
    readonly timeoutMs: number;
    readonly signal?: AbortSignal | undefined;
  },
): Promise<CompilerRun> {
  const { folder, timeoutMs, signal } = options;
  return new Promise((resolve, reject) => {
    const child = spawn(path, args, {
      cwd: folder,
      env: environment(folder),
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true, // its own process group, so that cc1plus and ld end with it
    });
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
    signal?.addEventListener('abort', endGroup, { once: true });
    endWithProcess(endGroup);
    const settle = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', endGroup);
      running.delete(endGroup);
    };
    const collect = (chunk: Buffer): void => {
      if (log.length < maxLogBytes) log += chunk.toString('utf8');
    };
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    child.stdin.on('error', () => undefined); // a compiler that does not read its input: its status says why
    child.on('error', (error) => {
      settle();
      reject(error);
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
