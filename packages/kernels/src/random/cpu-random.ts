import { withConstants, type BuiltinKernel, scalar } from '../emitted-kernel.js';
import { dtypeBytes, type DType } from '../dtype.js';
import { elementNumber } from '../elementwise/element-type.js';
import { float64, int64, pointer } from '../kernel-param.js';

/** Which numbers are drawn, and from how many bits. */
export interface RandomNumbers {
  readonly kind: 'uniform' | 'normal';
  /** 53 bits of two words; 1 to 32 bits of one word for uniform numbers, 32 for normal ones. */
  readonly bits: number;
  /** What they are stored as, converted from float64 as casts are. */
  readonly to: DType;
}

/** Elements of one task. */
const SPAN = 4096;

/**
 * Random numbers as a built-in function of the CPU's runtime (docs/adr/0035): `out[i] = shift + scale x`, computed in float64, where x is a
 * uniform number of [0, 1) or a standard normal one, made of the words i, or 2i and 2i + 1, of the blocks of a Philox key. Scalars `keyLow` and `keyHigh` are
 * its halves.
 */
export function cpuRandomKernel({ kind, bits, to }: RandomNumbers): BuiltinKernel {
  return withConstants(
    {
      name: `random ${kind} ${bits} ${to}`,
      entry: 'random',
      params: [
        pointer('out', to, 'write'),
        ...['count', 'keyLow', 'keyHigh'].map(int64),
        ...['shift', 'scale'].map(float64),
      ],
      tasks: (scalars) => Math.ceil(scalar(scalars, 'count') / SPAN),
      cost: (scalars) => ({ bytes: scalar(scalars, 'count') * dtypeBytes(to), flops: 0 }),
    },
    { normal: Number(kind === 'normal'), bits, type: elementNumber(to) },
  );
}
