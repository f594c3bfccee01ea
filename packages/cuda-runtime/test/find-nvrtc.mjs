// Where tests find NVRTC: what the environment says, else the repository's .nvrtc folder, else the normal search.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../../../.nvrtc', import.meta.url));

/** Environment variables under which NVRTC is found; empty if the normal search has to do. */
export function nvrtcEnvironment() {
  const { MERCER_CUDA_NVRTC_PATH, MERCER_CUDA_HOME } = process.env;
  if (MERCER_CUDA_NVRTC_PATH) return { MERCER_CUDA_NVRTC_PATH };
  if (MERCER_CUDA_HOME) return { MERCER_CUDA_HOME };
  return existsSync(folder) ? { MERCER_CUDA_HOME: folder } : {};
}

/** Applies them to this process. */
export function useNvrtc() {
  Object.assign(process.env, nvrtcEnvironment());
}

/**
 * Applies them and says whether there is an NVRTC: what needs one is skipped by name where there is none. Another process looks, as
 * one that has looked keeps the driver that it found.
 */
export function nvrtcFound() {
  useNvrtc();
  const library = JSON.stringify(new URL('../dist/index.js', import.meta.url).href);
  const look = `const { nvrtc } = await import(${library}); process.exitCode = nvrtc.isAvailable() ? 0 : 1;`;
  return spawnSync(process.execPath, ['--input-type=module', '-e', look]).status === 0;
}
