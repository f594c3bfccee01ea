import type { DType } from '../dtype.js';

/** The bits of an element that is not there, and the type that holds them: a quiet NaN, or 0 where there is none. */
const MISSING: { readonly [D in DType]: { readonly type: string; readonly bits: string } } = {
  float64: { type: 'u64', bits: '0x7ff8000000000000ull' },
  float32: { type: 'u32', bits: '0x7fc00000u' },
  float16: { type: 'u16', bits: '0x7e00u' },
  bfloat16: { type: 'u16', bits: '0x7fc0u' },
  int64: { type: 'u64', bits: '0ull' },
  int32: { type: 'u32', bits: '0u' },
  uint8: { type: 'u8', bits: '0u' },
  bool: { type: 'u8', bits: '0u' },
};

/** What a gather writes where its table has no row, as text. */
export function missingElement(dtype: DType): { readonly type: string; readonly bits: string } {
  return MISSING[dtype];
}
