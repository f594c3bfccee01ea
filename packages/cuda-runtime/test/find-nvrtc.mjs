// Where tests find NVRTC: what the environment says, else the repository's .nvrtc folder, else the normal search.
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
