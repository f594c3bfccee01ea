// Files of GPU tests, which are left out of a run where there is no NVIDIA device at all: they would load everything and skip themselves.
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { workspacePackages } from './workspace.mjs';

/** The driver's device on Linux, and that of WSL. */
export const hasNvidiaDevice = ['/dev/nvidiactl', '/dev/dxg'].some((file) => existsSync(file));

/** How many files of GPU tests there are. */
export function countGpuTests() {
  return workspacePackages()
    .flatMap(({ directory }) =>
      readdirSync(path.join(directory, 'src'), { recursive: true, encoding: 'utf8' }),
    )
    .filter((file) => file.endsWith('.gpu.test.ts')).length;
}
