import type { DType } from './dtype.js';

/** The type of a scalar parameter. */
export type ScalarType = 'int32' | 'int64' | 'float32' | 'float64';

/** One parameter of a kernel, in the order of the kernel's signature. */
export type KernelParam =
  | {
      readonly name: string;
      readonly kind: 'pointer';
      readonly dtype: DType | 'byte';
      readonly access: 'read' | 'write' | 'readwrite';
    }
  | { readonly name: string; readonly kind: 'scalar'; readonly type: ScalarType }
  /** CUDA only: 128 bytes by value, aligned to 64. */
  | { readonly name: string; readonly kind: 'tensorMap' };

export const pointer = (
  name: string,
  dtype: DType | 'byte',
  access: 'read' | 'write' | 'readwrite',
): KernelParam => ({ name, kind: 'pointer', dtype, access });

export const int64 = (name: string): KernelParam => ({ name, kind: 'scalar', type: 'int64' });

export const float64 = (name: string): KernelParam => ({ name, kind: 'scalar', type: 'float64' });

/** Where each parameter lies in the packed buffer. */
export interface PackedParams {
  /** Byte offset of each parameter, in order. */
  readonly offsets: readonly number[];
  /** Byte size of each parameter, in order. */
  readonly sizes: readonly number[];
  /** Size of the whole buffer, padded to `alignment`. */
  readonly bytes: number;
  /** Alignment that the buffer itself needs, in bytes. */
  readonly alignment: number;
}

const SCALAR_BYTES: { readonly [T in ScalarType]: number } = {
  int32: 4,
  int64: 8,
  float32: 4,
  float64: 8,
};

/**
 * Lays parameters out like the members of a C struct: each at its natural alignment, in order.
 *
 * ```ts
 * import { packParams } from '@mercer/kernels';
 * const packed = packParams([
 *   { name: 'n', kind: 'scalar', type: 'int32' },
 *   { name: 'x', kind: 'pointer', dtype: 'float32', access: 'read' },
 * ]);
 * console.log(packed.offsets, packed.bytes); // [ 0, 8 ] 16
 * ```
 */
export function packParams(params: readonly KernelParam[]): PackedParams {
  const offsets: number[] = [];
  const sizes: number[] = [];
  let end = 0;
  let alignment = 1;
  for (const param of params) {
    const { size, align } = sizeOf(param);
    const offset = Math.ceil(end / align) * align;
    offsets.push(offset);
    sizes.push(size);
    end = offset + size;
    alignment = Math.max(alignment, align);
  }
  return { offsets, sizes, bytes: Math.ceil(end / alignment) * alignment, alignment };
}

function sizeOf(param: KernelParam): { size: number; align: number } {
  if (param.kind === 'tensorMap') return { size: 128, align: 64 };
  const size = param.kind === 'pointer' ? 8 : SCALAR_BYTES[param.type];
  return { size, align: size };
}
