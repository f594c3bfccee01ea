import { DTYPES, type DType } from '@mercer/kernels';
import { describe, expect, it } from 'vitest';
import { add, div, empty, eq, exp, neg, where, type Tensor } from '../index.js';
import { commonDType, resultDType, type OperandDType } from './dtype-rules.js';

/*
 * The rules, written out. Rows and columns: what meets. f64, f32, i64, i32, u8 and b are dtypes of results; a number is one without a
 * fraction ('whole') or with one ('number').
 */
const TABLE = `
              float64 float32 float16 bfloat16 int64 int32 uint8 bool whole number
  float64     f64     f64     f64     f64      f64   f64   f64   f64  f64   f64
  float32     f64     f32     f32     f32      f32   f32   f32   f32  f32   f32
  float16     f64     f32     f32     f32      f32   f32   f32   f32  f32   f32
  bfloat16    f64     f32     f32     f32      f32   f32   f32   f32  f32   f32
  int64       f64     f32     f32     f32      i64   i64   i64   i64  i64   f32
  int32       f64     f32     f32     f32      i64   i32   i32   i32  i32   f32
  uint8       f64     f32     f32     f32      i64   i32   u8    u8   u8    f32
  bool        f64     f32     f32     f32      i64   i32   u8    b    i32   f32
`;

const SHORT: Readonly<Record<string, DType>> = {
  f64: 'float64',
  f32: 'float32',
  i64: 'int64',
  i32: 'int32',
  u8: 'uint8',
  b: 'bool',
};

const [columns = [], ...rows] = TABLE.trim()
  .split('\n')
  .map((line) => line.trim().split(/\s+/));

const NUMBERS: Readonly<Record<string, number>> = { whole: 2, number: 0.5 };

const PAIRS = rows.flatMap(([first = '', ...cells]) =>
  cells.map((cell, at) => ({ first, second: columns[at] ?? '', met: SHORT[cell] ?? 'float64' })),
);

const kind = (name: string): OperandDType =>
  name === 'whole' ? 'whole number' : (name as OperandDType);
const made = (name: string): Tensor | number =>
  NUMBERS[name] ?? empty([2], { dtype: name as DType, device: 'cpu' });

const byTable = (a: string, b: string): number => columns.indexOf(a) - columns.indexOf(b);

it('the table has every pair of dtypes', () => {
  expect(columns).toEqual([...DTYPES.toSorted(byTable), 'whole', 'number']);
  expect(rows.map(([name]) => name)).toEqual(DTYPES.toSorted(byTable));
  expect(PAIRS).toHaveLength(DTYPES.length * (DTYPES.length + 2));
});

const isWhole = (dtype: DType): boolean => !dtype.startsWith('float');

describe.each(PAIRS)('$first and $second', ({ first, second, met }) => {
  it(`meet in ${met}, in either order`, () => {
    expect(commonDType([kind(first), kind(second)])).toBe(met);
    expect(commonDType([kind(second), kind(first)])).toBe(met);
  });

  it('give what the operations say', () => {
    const operands = [made(first), made(second)] as const;
    const [a, b] = operands as readonly [Tensor, Tensor];
    const dtypeOf = (result: object): unknown => (result as { readonly dtype?: unknown }).dtype;
    const sums = met === 'bool' ? 'int32' : met;
    const floating = isWhole(met) ? 'float32' : met;
    for (const [x, y] of [
      [a, b],
      [b, a],
    ] as const) {
      expect(dtypeOf(add(x, y))).toBe(sums);
      expect(dtypeOf(where(a, x, y))).toBe(met);
      expect(dtypeOf(div(x, y))).toBe(floating);
      expect(dtypeOf(eq(x, y))).toBe('bool');
    }
    for (const one of operands) if (typeof one !== 'number') one.dispose();
  });

  it('are computed in float64 where float32 has not every value', () => {
    const operands = [kind(first), kind(second)];
    const wide = met === 'float64' || met === 'int32' || met === 'int64';
    expect(resultDType('common', operands).computesIn).toBe(wide ? 'float64' : 'float32');
    expect(resultDType('truth', operands).computesIn).toBe(wide ? 'float64' : 'float32');
    const floating = resultDType('floating', operands).computesIn;
    expect(floating).toBe(met === 'float64' ? 'float64' : 'float32');
  });
});

describe.each(DTYPES)('one tensor of %s', (dtype) => {
  it('keeps its dtype in arithmetic, and is a float in functions', () => {
    const x = empty([2], { dtype, device: 'cpu' });
    const dtypeOf = (result: object): unknown => (result as { readonly dtype?: unknown }).dtype;
    const single = dtype === 'float16' || dtype === 'bfloat16' ? 'float32' : dtype;
    expect(dtypeOf(neg(x))).toBe(dtype === 'bool' ? 'int32' : single);
    expect(dtypeOf(exp(x))).toBe(dtype === 'float64' ? 'float64' : 'float32');
    x.dispose();
  });
});
