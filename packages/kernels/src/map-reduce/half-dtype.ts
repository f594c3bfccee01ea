/** 16-bit types that inputs may be stored in; float32 computes. */
export type HalfDType = 'float16' | 'bfloat16';
