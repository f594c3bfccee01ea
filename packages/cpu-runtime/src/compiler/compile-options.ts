import { CpuRuntimeError } from '../errors.js';

/** Instruction sets that kernels run with; nothing is compiled for wasm128, which the interpreter alone is built for. */
export type CpuLevel = 'x86-64-v2' | 'x86-64-v3' | 'x86-64-v4' | 'arm64' | 'wasm128';

/** Those of x86-64, the lowest first: a processor of one runs what is compiled for those before it. */
export const X86_LEVELS: readonly CpuLevel[] = ['x86-64-v2', 'x86-64-v3', 'x86-64-v4'];

const levelFlags: { readonly [L in Exclude<CpuLevel, 'wasm128'>]: readonly string[] } = {
  'x86-64-v2': ['-march=x86-64-v2', '-mtune=generic'],
  'x86-64-v3': ['-march=x86-64-v3', '-mtune=generic'],
  'x86-64-v4': ['-march=x86-64-v4', '-mtune=generic', '-mprefer-vector-width=512'],
  arm64: ['-march=armv8-a'],
};

// Options that cannot change what a number means or read a file.
const allowed: readonly RegExp[] = [
  /^-O[0-3]$/,
  /^-g[0-3]?$/,
  /^-ffp-contract=(off|on|fast)$/,
  /^-f(no-)?(unroll-loops|tree-vectorize|slp-vectorize|omit-frame-pointer)$/,
  /^-mprefer-vector-width=(128|256|512)$/,
  /^-W(all|extra|error)$/,
  /^-D[A-Za-z_]\w*(=[\w.+-]*)?$/,
];

/**
 * Flags of every compilation. `-nostartfiles` leaves out the start-up objects, with them crtfastmath.o, which sets
 * flush-to-zero for the process; nothing in a kernel needs them.
 */
const commonFlags: readonly string[] = [
  '-x',
  'c++',
  '-std=gnu++17',
  '-O3',
  '-fno-math-errno',
  '-fno-trapping-math',
  '-ffp-contract=fast',
  '-fno-exceptions',
  '-fno-rtti',
  '-fno-asynchronous-unwind-tables',
  '-fno-stack-protector',
  '-fno-ident',
  '-fPIC',
  '-shared',
  '-nostartfiles',
  '-Wl,--as-needed',
  '-Wl,-z,defs',
  '-Wl,-z,noexecstack',
  '-Wl,--build-id=none',
];

/**
 * The compiler's arguments for one kernel, without input and output.
 *
 * @throws CpuRuntimeError `INVALID_ARGUMENT` for a level or an option that is not on the list
 */
export function compilerArguments(level: CpuLevel, options: readonly string[]): string[] {
  const flags =
    level !== 'wasm128' && Object.hasOwn(levelFlags, level) ? levelFlags[level] : undefined;
  if (flags === undefined) {
    throw new CpuRuntimeError(
      'INVALID_ARGUMENT',
      `compiling a kernel failed: "${level}" is no instruction set level. Use one of ${Object.keys(levelFlags).join(', ')}.`,
    );
  }
  for (const option of options) {
    if (!allowed.some((pattern) => pattern.test(option))) {
      throw new CpuRuntimeError(
        'INVALID_ARGUMENT',
        `compiling a kernel failed: the option "${option}" is not allowed. Levels, fast math and paths cannot be set here; ` +
          'allowed are -O0..3, -g, -ffp-contract, -D and switches of single optimisations.',
      );
    }
  }
  return [...commonFlags, ...flags, ...options];
}

/**
 * Structured options of a compile unit as compiler flags. `fmad` is contraction of a*b+c, `lineinfo` debug lines;
 * `prec-div`, `prec-sqrt` and `maxrregcount` have no meaning on a CPU, and `ftz` cannot be had.
 *
 * @throws CpuRuntimeError `INVALID_ARGUMENT` for `ftz: true` or an unknown name
 */
export function hostCompileOptions(
  options: readonly { readonly name: string; readonly value: boolean | number }[],
): string[] {
  const flags: string[] = [];
  for (const { name, value } of options) {
    switch (name) {
      case 'fmad':
        flags.push(`-ffp-contract=${value === false ? 'off' : 'fast'}`);
        break;
      case 'lineinfo':
        if (value !== false) flags.push('-g1');
        break;
      case 'ftz':
        if (value === false) break;
        throw new CpuRuntimeError(
          'INVALID_ARGUMENT',
          'compiling a host kernel failed: ftz would flush denormal numbers in the whole process. Leave it out for the CPU.',
        );
      case 'prec-div':
      case 'prec-sqrt':
      case 'maxrregcount':
        break;
      default:
        throw new CpuRuntimeError(
          'INVALID_ARGUMENT',
          `compiling a host kernel failed: the option "${name}" is not known. Known are fmad, lineinfo, ftz, prec-div, prec-sqrt, maxrregcount.`,
        );
    }
  }
  return flags;
}
