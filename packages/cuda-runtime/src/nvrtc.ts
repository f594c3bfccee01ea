import { describeValue, type OptionNames } from '@mercer/options';
import { codeOf } from './code-of.js';
import { misuse } from './errors.js';
import { nvrtcReport, requireNvrtc } from './library/open-libraries.js';
import { readOptions } from './read-options.js';

/** A program for NVRTC. No header is found unless the source holds it. */
export interface CompileRequest {
  readonly source: string;
  /** Name in messages. */
  readonly fileName?: string;
  /** As NVRTC takes them, for example `--gpu-architecture=sm_90a`. */
  readonly options?: readonly string[];
  /** C++ names (`kernel<float>`) whose lowered names are wanted. */
  readonly nameExpressions?: readonly string[];
  /** A cubin for a real architecture (`sm_90a`), or PTX text. */
  readonly output?: 'cubin' | 'ptx';
}

const REQUEST: OptionNames<CompileRequest> = {
  source: true,
  fileName: true,
  options: true,
  nameExpressions: true,
  output: true,
};
const outputs = { cubin: 0, ptx: 1 } as const;

/** What came out. PTX text ends in a zero byte, as the driver wants it. */
export interface CompileResult {
  readonly binary: Uint8Array;
  /** Warnings. */
  readonly log: string;
  readonly loweredNames: Readonly<Record<string, string>>;
}

/** The run-time compiler. Nothing is opened before the first call. */
export const nvrtc = {
  /** True if NVRTC of CUDA 12 or 13 opens. Never throws. */
  isAvailable(): boolean {
    return nvrtcReport().found;
  },

  /**
   * `[13, 0]`.
   *
   * @see nvrtcVersion: https://docs.nvidia.com/cuda/nvrtc/index.html
   */
  version(): [major: number, minor: number] {
    const { major, minor } = requireNvrtc().nvrtcInfo();
    return [major, minor];
  },

  /** Version and build ids of the library and its builtins: equal only for equal compilers. No path in it. */
  identity(): string {
    return requireNvrtc().nvrtcInfo().identity;
  },

  /**
   * Architectures it knows, as numbers: 90 for sm_90.
   *
   * @see nvrtcGetSupportedArchs: https://docs.nvidia.com/cuda/nvrtc/index.html
   */
  supportedArchs(): number[] {
    return requireNvrtc().nvrtcInfo().archs;
  },

  /**
   * Compiles on the addon's own threads. Rejects with `NvrtcError`, whose `log` tells what is wrong.
   *
   * @see nvrtcCompileProgram: https://docs.nvidia.com/cuda/nvrtc/index.html
   */
  async compile(request: CompileRequest): Promise<CompileResult> {
    const read = readOptions('nvrtc.compile', request, REQUEST);
    const { source, fileName = 'kernel.cu', options = [], nameExpressions = [] } = read;
    const { output = 'cubin' } = read;
    assertList(options, 'options');
    assertList(nameExpressions, 'nameExpressions');
    const texts: readonly unknown[] = [source, fileName, ...options, ...nameExpressions];
    for (const text of texts) {
      if (typeof text !== 'string' || text.includes('\0')) {
        throw misuse(
          'INVALID_ARGUMENT',
          'Source, file name, options and name expressions are texts without zero characters. Remove the character.',
        );
      }
    }
    const addon = requireNvrtc();
    const ptx = codeOf(outputs, output, 'The output') === 1;
    const result = await addon.nvrtcCompile(source, fileName, options, nameExpressions, ptx);
    return { ...result, loweredNames: Object.fromEntries(result.loweredNames) };
  },
};

function assertList(value: unknown, name: string): void {
  if (Array.isArray(value)) return;
  throw misuse(
    'INVALID_ARGUMENT',
    `nvrtc.compile: ${name} is ${describeValue(value)}. Pass an array of texts.`,
  );
}
