import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import type { ChildJob, ChildResult, ChildSettings } from './child-jobs.test-support.js';

const SCRIPT = fileURLToPath(new URL('../../dist/testing/child.test-support.js', import.meta.url));

export interface RunningChild {
  readonly process: ChildProcess;
  /** Resolves when the child has printed this line; rejects when it ends first. */
  line(wanted: string): Promise<void>;
  /** Lets a child begin that waits. */
  begin(): void;
  /** Its result; rejects when it ends without one. */
  readonly result: Promise<ChildResult>;
  /** Exit status, or the signal that ended it. */
  readonly end: Promise<number | string>;
}

/** Starts a child process over the built package. It is killed with the test. */
export function startChild(
  settings: ChildSettings,
  job: ChildJob,
  env: Readonly<Record<string, string | undefined>> = {},
): RunningChild {
  const child = spawn(process.execPath, [SCRIPT, JSON.stringify({ settings, job })], {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  // A child that dies before it is told to begin breaks its pipe.
  child.stdin.on('error', () => undefined);
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const lines: string[] = [];
  const watchers = new Set<() => void>();
  createInterface(child.stdout).on('line', (line) => {
    lines.push(line);
    for (const watcher of watchers) watcher();
  });
  const end = once(child, 'close').then(([status, signal]: (number | string)[]) => {
    for (const watcher of watchers) watcher();
    return status ?? signal ?? 'unknown';
  });
  const result = end.then((how) => {
    const last = lines.at(-1);
    if (how === 0 && last?.startsWith('{')) return JSON.parse(last) as ChildResult;
    throw new Error(`the child ended with ${how}: ${errors}`);
  });
  // Children that are meant to die have no result, and nobody asks for it.
  result.catch(() => undefined);
  return {
    process: child,
    end,
    result,
    begin: () => child.stdin.end('begin\n'),
    line: (wanted) =>
      new Promise((resolve, reject) => {
        const watcher = (): void => {
          if (lines.includes(wanted)) resolve();
          else if (child.exitCode !== null) reject(new Error(`no ${wanted}: ${errors}`));
          else return;
          watchers.delete(watcher);
        };
        watchers.add(watcher);
        watcher();
      }),
  };
}

/** Runs a child to its end. */
export function runChild(
  settings: ChildSettings,
  job: ChildJob,
  env?: Readonly<Record<string, string | undefined>>,
): Promise<ChildResult> {
  return startChild(settings, job, env).result;
}
