import type { DType } from '@mercer/kernels';

/** A dtype of a tensor operand, or what a number is: it takes part without a dtype of its own. */
export type OperandDType = DType | 'whole number' | 'number';

/** How the dtype of a result follows from those of the operands. */
export type DTypeRule =
  /** The operands' common dtype. */
  | 'common'
  /** The same, but whole numbers give float32. */
  | 'floating'
  /** bool, of operands that are compared in their common dtype. */
  | 'truth';

const INTEGERS = ['bool', 'uint8', 'int32', 'int64'] as const;

type Integer = (typeof INTEGERS)[number];

const isInteger = (dtype: DType): dtype is Integer =>
  (INTEGERS as readonly DType[]).includes(dtype);

/**
 * The dtype in which operands meet: float64 where one is; else float32 where one is a float, those of 16 bits included; else the
 * largest of bool, uint8, int32, int64. A number changes no dtype, but that a number with a fraction beside whole numbers
 * is float32, and any number beside bool at least int32.
 */
export function commonDType(operands: readonly OperandDType[]): DType {
  let common: Integer | undefined;
  let number: 'whole number' | 'number' | undefined;
  let float = false;
  for (const one of operands) {
    if (one === 'float64') return 'float64';
    if (one === 'number' || one === 'whole number') {
      number = number === 'number' ? number : one;
    } else if (!isInteger(one)) {
      float = true;
    } else if (common === undefined || INTEGERS.indexOf(one) > INTEGERS.indexOf(common)) {
      common = one;
    }
  }
  if (float || common === undefined || number === 'number') return 'float32';
  return common === 'bool' && number !== undefined ? 'int32' : common;
}

/** What an operation computes in and what it gives. */
export interface ResultDType {
  readonly dtype: DType;
  /** float64 where float32 has not every value: for float64 and for int32 and int64, exact up to 2^53. */
  readonly computesIn: 'float32' | 'float64';
}

/** The dtype of a result. Arithmetic on bool alone gives int32. */
export function resultDType(
  rule: DTypeRule,
  operands: readonly OperandDType[],
  arithmetic = false,
): ResultDType {
  const met = commonDType(operands);
  const computesIn =
    met === 'float64' || ((met === 'int32' || met === 'int64') && rule !== 'floating')
      ? 'float64'
      : 'float32';
  if (rule === 'truth') return { dtype: 'bool', computesIn };
  if (rule === 'floating') return { dtype: isInteger(met) ? 'float32' : met, computesIn };
  return { dtype: arithmetic && met === 'bool' ? 'int32' : met, computesIn };
}
