import type { CompileOutput, Toolchain } from '../types.js';
import { nvrtcFlags } from './nvrtc-options.js';

/** What this toolchain needs of `@mercer/cuda-runtime`. */
export interface NvrtcRuntime {
  readonly nvrtc: {
    identity(): string;
    compile(request: {
      source: string;
      fileName: string;
      options: string[];
      nameExpressions: string[];
      output: 'cubin' | 'ptx';
    }): Promise<CompileOutput>;
  };
  readonly cuda: { report(): { readonly driver: { readonly version?: unknown } } };
}

/**
 * NVRTC, as `@mercer/cuda-runtime` finds it. A target `sm_...` gives a cubin, `compute_...` gives
 * PTX. The driver finishes PTX, so that the driver's version is part of the identity there.
 *
 * @throws LibraryNotFoundError with every place that was tried
 */
export async function nvrtcToolchain(runtime?: NvrtcRuntime): Promise<Toolchain> {
  const { nvrtc, cuda } =
    runtime ?? ((await import('@mercer/cuda-runtime')) as unknown as NvrtcRuntime);
  const identity = `nvrtc ${nvrtc.identity()}`;
  return {
    name: 'nvrtc',
    identity,
    identityFor: (target) =>
      target.startsWith('compute_')
        ? `${identity}; driver ${JSON.stringify(cuda.report().driver.version ?? 'none')}`
        : identity,
    compile: ({ source, options, target, names }) =>
      nvrtc.compile({
        source,
        // Constant: line information would carry any other name into the binary.
        fileName: 'mercer.cu',
        options: nvrtcFlags(target, options),
        nameExpressions: [...names],
        output: target.startsWith('compute_') ? 'ptx' : 'cubin',
      }),
  };
}
