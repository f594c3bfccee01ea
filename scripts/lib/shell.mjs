// Running other programs from the workspace's scripts.
import { spawnSync } from 'node:child_process';

/**
 * Runs a program and returns its standard output; throws with its output when it fails.
 * @param {string} program
 * @param {string[]} args
 * @param {import('node:child_process').SpawnSyncOptions & { quiet?: boolean }} [options]
 */
export function run(program, args, { quiet = false, ...options } = {}) {
  const result = spawnSync(program, args, {
    encoding: 'utf8',
    maxBuffer: 1 << 30,
    stdio: quiet ? ['ignore', 'pipe', 'pipe'] : ['ignore', 'pipe', 'inherit'],
    ...options,
  });
  if (result.error)
    throw new Error(`could not run ${program}: ${result.error.message}`, { cause: result.error });
  if (result.status !== 0) {
    const output = [result.stdout, result.stderr].filter(Boolean).join('\n');
    throw new Error(
      `${program} ${args.join(' ')} ended with ${result.status ?? result.signal}\n${output}`,
    );
  }
  return String(result.stdout ?? '');
}

/** Whether a program of this name answers to `--version`. */
export function hasProgram(/** @type {string} */ name) {
  return spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0;
}
