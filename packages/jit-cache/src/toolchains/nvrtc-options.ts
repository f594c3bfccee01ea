import { CacheError } from '../errors.js';
import type { CompileOption } from '../types.js';

type Flag = (value: boolean | number) => string | undefined;

function toggle(flag: string): Flag {
  return (value) => (typeof value === 'boolean' ? `--${flag}=${value}` : undefined);
}

/** Every option there is, and its flag; undefined for a value of the wrong kind. No text passes. */
const FLAGS = new Map<string, Flag>([
  ['fmad', toggle('fmad')],
  ['ftz', toggle('ftz')],
  ['prec-div', toggle('prec-div')],
  ['prec-sqrt', toggle('prec-sqrt')],
  [
    'maxrregcount',
    (value) =>
      typeof value === 'number' && Number.isInteger(value) && value >= 16 && value <= 255
        ? `--maxrregcount=${value}`
        : undefined,
  ],
  [
    'lineinfo',
    (value) => (typeof value === 'boolean' ? (value ? '--generate-line-info' : '') : undefined),
  ],
]);

/**
 * The flags of a unit for NVRTC, in the order of its options.
 *
 * @throws CacheError OPTION_UNSUPPORTED, TARGET_UNSUPPORTED
 */
export function nvrtcFlags(target: string, options: readonly CompileOption[]): string[] {
  if (!/^(sm|compute)_\d{2,3}[af]?$/.test(target)) {
    throw new CacheError(
      'TARGET_UNSUPPORTED',
      `Cannot compile CUDA for ${target}: it is no GPU architecture. Give one like sm_90a, or compute_90 for PTX.`,
    );
  }
  const flags = ['--std=c++17', `--gpu-architecture=${target}`];
  for (const { name, value } of options) {
    const flag = FLAGS.get(name)?.(value);
    if (flag === undefined) {
      throw new CacheError(
        'OPTION_UNSUPPORTED',
        `Cannot compile CUDA with option ${name} = ${value}: there is no such option or value. Options are ${[...FLAGS.keys()].join(', ')} (true or false; maxrregcount 16 to 255).`,
      );
    }
    if (flag !== '') flags.push(flag);
  }
  return flags;
}
