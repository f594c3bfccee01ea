import { dtypeBytes, type DType } from '../dtype.js';

/** Elements moved without being read as numbers; NaN payloads and negative zeros survive. */
export type RawElement = 'bits8' | 'bits16' | 'bits32' | 'bits64';

/** What one side of a copy is made of. */
export type ElementType = DType | RawElement;

/** The type in which a value is held between load and store. */
export type WorkingType = 'double' | 'float' | 'i64' | 'i32' | 'u8' | 'flag';

interface ElementInfo {
  readonly bytes: 1 | 2 | 4 | 8;
  readonly storage: string;
  readonly working: WorkingType;
  /** Short name, used in the names of entries. */
  readonly tag: string;
}

const INFO: { readonly [K in ElementType]: ElementInfo } = {
  float64: { bytes: 8, storage: 'double', working: 'double', tag: 'f64' },
  float32: { bytes: 4, storage: 'float', working: 'float', tag: 'f32' },
  float16: { bytes: 2, storage: 'u16', working: 'float', tag: 'f16' },
  bfloat16: { bytes: 2, storage: 'u16', working: 'float', tag: 'bf16' },
  int64: { bytes: 8, storage: 'i64', working: 'i64', tag: 'i64' },
  int32: { bytes: 4, storage: 'i32', working: 'i32', tag: 'i32' },
  uint8: { bytes: 1, storage: 'u8', working: 'u8', tag: 'u8' },
  bool: { bytes: 1, storage: 'u8', working: 'flag', tag: 'bool' },
  bits8: { bytes: 1, storage: 'u8', working: 'u8', tag: 'b8' },
  bits16: { bytes: 2, storage: 'u16', working: 'u8', tag: 'b16' },
  bits32: { bytes: 4, storage: 'u32', working: 'u8', tag: 'b32' },
  bits64: { bytes: 8, storage: 'u64', working: 'u8', tag: 'b64' },
};

const RAW_BY_BYTES: Readonly<Record<number, RawElement>> = {
  1: 'bits8',
  2: 'bits16',
  4: 'bits32',
  8: 'bits64',
};

/** Bytes, C storage type and working type of an element. */
export function elementInfo(type: ElementType): ElementInfo {
  return INFO[type];
}

/** The raw element of the same size as a dtype. */
export function rawElement(dtype: DType): RawElement {
  const raw = RAW_BY_BYTES[dtypeBytes(dtype)];
  if (raw === undefined) {
    throw new TypeError(`no raw element has the size of ${dtype}`);
  }
  return raw;
}

/** True for elements that are moved, not converted. */
export function isRaw(type: ElementType): type is RawElement {
  return type.startsWith('bits');
}

/** Element types in the order of their numbers in programs. */
export const ELEMENT_TYPES: readonly ElementType[] = [
  ...(['float64', 'float32', 'float16', 'bfloat16', 'int64', 'int32', 'uint8', 'bool'] as const),
  ...(['bits8', 'bits16', 'bits32', 'bits64'] as const),
];

/** The number of a type. */
export function elementNumber(type: ElementType): number {
  return ELEMENT_TYPES.indexOf(type);
}
