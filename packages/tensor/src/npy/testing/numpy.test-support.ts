import { spawnSync } from 'node:child_process';

const PYTHON = process.env['MERCER_TEST_PYTHON'] ?? 'python3';

/** Runs a Python program with numpy; throws with its error text when it fails. */
export function runNumpy(program: string, ...args: string[]): string {
  const child = spawnSync(PYTHON, ['-c', program, ...args], { encoding: 'utf8' });
  if (child.status !== 0) throw new Error(`python failed: ${child.stderr || String(child.error)}`);
  return child.stdout;
}

/** Why numpy cannot be asked on this machine, or undefined when it can. */
export function numpyMissing(): string | undefined {
  const child = spawnSync(PYTHON, ['-c', 'import numpy'], { encoding: 'utf8' });
  return child.status === 0 ? undefined : `${PYTHON} with numpy is not on this machine`;
}
