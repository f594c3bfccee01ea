import {
  Bool,
  Dictionary,
  Field,
  FixedSizeList,
  Float32,
  Int32,
  makeData,
  makeVector,
  Table,
  Utf8,
  vectorFromArray,
  Float16,
  Int8,
  Uint32,
  Vector,
  tableFromArrays,
} from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { hostArray } from './host-array.js';

const read = (source: unknown) => hostArray(source, {}, 'tensor');

describe('Arrow data', () => {
  it('takes vectors of numbers', () => {
    expect(read(makeVector(new Float64Array([1, 2.5])))).toMatchObject({
      dtype: 'float64',
      data: Float64Array.of(1, 2.5),
    });
    expect(read(vectorFromArray([1, 2], new Float32()))).toMatchObject({
      dtype: 'float32',
      shape: [2],
    });
    expect(read(vectorFromArray([-1], new Int8()))).toMatchObject({
      dtype: 'int32',
      data: Int32Array.of(-1),
    });
    expect(read(vectorFromArray([4294967295], new Uint32()))).toMatchObject({
      data: BigInt64Array.of(4294967295n),
    });
    expect(read(makeVector(new BigInt64Array([7n])))).toMatchObject({ dtype: 'int64' });
    expect(read(makeVector(new Uint8Array([7])))).toMatchObject({ dtype: 'uint8' });
    expect(read(vectorFromArray([1.5, -2], new Float16()))).toMatchObject({
      dtype: 'float16',
      data: Uint16Array.of(0x3e00, 0xc000),
    });
    expect(read(vectorFromArray([true, false, true], new Bool()))).toMatchObject({
      dtype: 'bool',
      data: Uint8Array.of(1, 0, 1),
    });
  });

  it('takes slices and chunks', () => {
    const chunks = new Vector([
      makeVector(new Float32Array([1, 2])),
      makeVector(new Float32Array([3])),
    ]);
    expect(read(chunks).data).toEqual(Float32Array.of(1, 2, 3));
    expect(read(makeVector(new Float32Array([1, 2, 3, 4])).slice(1, 3)).data).toEqual(
      Float32Array.of(2, 3),
    );
  });

  it('takes fixed-size lists and tables', () => {
    const child = makeData({ type: new Float32(), data: new Float32Array([1, 2, 3, 4, 5, 6]) });
    const type = new FixedSizeList(3, new Field('item', new Float32()));
    const lists = new Vector([makeData({ type, length: 2, nullCount: 0, child })]);
    expect(read(lists)).toMatchObject({ dtype: 'float32', shape: [2, 3], strides: [3, 1] });
    const table = tableFromArrays({ a: new Float64Array([1, 2]), b: new Float64Array([3, 4]) });
    expect(read(table)).toMatchObject({
      dtype: 'float64',
      shape: [2, 2],
      strides: [1, 2],
      data: Float64Array.of(1, 2, 3, 4),
    });
  });

  it('takes vectors in chunks, and columns of tables in chunks', () => {
    const parts = [makeVector(new Float64Array([1, 2])), makeVector(new Float64Array([3]))];
    const vector = parts[0]?.concat(parts[1] as (typeof parts)[0]);
    expect(vector?.data).toHaveLength(2);
    expect(read(vector)).toMatchObject({ shape: [3], data: Float64Array.of(1, 2, 3) });
    const flags = vectorFromArray([true], new Bool()).concat(vectorFromArray([false], new Bool()));
    expect(read(flags)).toMatchObject({ dtype: 'bool', data: Uint8Array.of(1, 0) });
    const table = tableFromArrays({ a: new Int32Array([1]), b: new Int32Array([2]) });
    const longer = table.concat(
      tableFromArrays({ a: new Int32Array([3]), b: new Int32Array([4]) }),
    );
    expect(read(longer)).toMatchObject({ shape: [2, 2], data: Int32Array.of(1, 3, 2, 4) });
    expect(read(longer.getChild('b'))).toMatchObject({ shape: [2], data: Int32Array.of(2, 4) });
  });

  it('refuses nulls, text and mixed columns, by name', () => {
    expect(() => read(vectorFromArray([1, null], new Int32()))).toThrow(/holds 1 nulls/);
    expect(() => read(vectorFromArray(['a'], new Utf8()))).toThrow(/no kind of number/);
    expect(() =>
      read(vectorFromArray(['a', 'b'], new Dictionary(new Utf8(), new Int32()))),
    ).toThrow(/no kind of number/);
    const mixed = new Table({
      x: makeVector(new Float32Array(2)),
      y: makeVector(new Float64Array(2)),
    });
    expect(() => read(mixed)).toThrow(/mixes float32 and float64 columns/);
    const holed = new Table({ bad: vectorFromArray([1, null], new Int32()) });
    expect(() => read(holed)).toThrow(/column "bad"/);
  });
});
