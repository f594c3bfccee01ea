import type { ElementType } from '../elementwise/element-type.js';

/** Element types in the order of their numbers in programs. */
export const ELEMENT_TYPES: readonly ElementType[] = [
  ...(['float64', 'float32', 'float16', 'bfloat16', 'int64', 'int32', 'uint8', 'bool'] as const),
  ...(['bits8', 'bits16', 'bits32', 'bits64'] as const),
];

/** The number of a type. */
export function elementNumber(type: ElementType): number {
  return ELEMENT_TYPES.indexOf(type);
}
