import process from 'node:process';
import { rmSync } from 'node:fs';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

const paths = new Set<string>();

/**
 * Removes a temporary file or folder when the process exits or is ended by SIGINT, SIGTERM or SIGHUP, until the returned function
 * is called. The process still ends by the signal, so that its parent sees the status it would see without this. Where the program
 * has a listener of its own for a signal, that listener decides, and the path is removed at the exit. After SIGKILL nothing is removed.
 */
export function removeOnExit(path: string): () => void {
  if (paths.size === 0) {
    process.on('exit', removeAll);
    for (const signal of SIGNALS) process.on(signal, endBySignal);
  }
  paths.add(path);
  return () => {
    if (!paths.delete(path) || paths.size > 0) return;
    process.removeListener('exit', removeAll);
    for (const signal of SIGNALS) process.removeListener(signal, endBySignal);
  };
}

function endBySignal(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) > 1) return;
  removeAll();
  process.removeListener(signal, endBySignal);
  process.kill(process.pid, signal);
}

function removeAll(): void {
  for (const path of paths) {
    try {
      rmSync(path, { recursive: true, force: true });
    } catch {
      // The process ends: nobody is left to tell.
    }
  }
}
