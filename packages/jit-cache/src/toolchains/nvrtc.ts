import { cuda, nvrtc } from '@mercer/cuda-runtime';
import type { Toolchain } from '../types.js';
import { nvrtcFlags } from './nvrtc-options.js';

/**
 * NVRTC, as `@mercer/cuda-runtime` finds it. A target `sm_...` gives a cubin, `compute_...` gives
 * PTX. The driver finishes PTX, so that the driver's version is part of the identity there.
 *
 * @throws LibraryNotFoundError with every place that was tried
 */
export function nvrtcToolchain(): Promise<Toolchain> {
  return new Promise((resolve) => {
    resolve(makeToolchain());
  });
}

function makeToolchain(): Toolchain {
  const identity = nvrtc.identity();
  return {
    name: 'nvrtc',
    identity,
    identityFor: (target) =>
      target.startsWith('compute_')
        ? `${identity}; driver ${cuda.report().driver.version ?? 'none'}`
        : identity,
    compile: ({ source, options, target, names }) =>
      nvrtc.compile({
        source,
        // Constant: line information would carry any other name into the binary.
        fileName: 'mercer.cu',
        options: [...nvrtcFlags(target, options), ...withoutOwnCache(nvrtc.version())],
        nameExpressions: [...names],
        output: target.startsWith('compute_') ? 'ptx' : 'cubin',
      }),
  };
}

/**
 * NVRTC keeps results in the driver's cache as well, behind a lock: what is stored here would be stored twice. Versions
 * before 13 are not asked, because not all of them know the option.
 */
export function withoutOwnCache([major]: readonly [major: number, minor: number]): string[] {
  return major >= 13 ? ['--no-cache'] : [];
}
