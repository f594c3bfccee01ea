import { describeValue } from '@mercer/options';
import {
  CompressionType,
  Precision,
  setCompressionCodec,
  tableFromIPC,
  Type,
  type DataType,
} from '@uwdata/flechette';
import { cellNumber, noNumber, placesOf } from './choose-columns.js';
import { decodeLz4Frame } from './lz4-frame.js';
import type { NamedArray } from './named-array.js';
import type { Source } from './source.js';

/**
 * Columns of an Arrow file or stream (IPC) as a matrix: float32 where all of them are, else float64, with NaN where there is no value.
 *
 * @throws CliError USAGE, DTYPE_MISMATCH; what reading and flechette throw
 */
export async function readArrow(
  source: Source,
  wanted: readonly string[] | undefined,
): Promise<NamedArray<'float32' | 'float64'>> {
  const { path } = source;
  const { compressors } = await import('hyparquet-compressors');
  // a copy, whose bytes begin where numbers of eight bytes may
  const zstd = (bytes: Uint8Array): Uint8Array<ArrayBuffer> =>
    Uint8Array.from(compressors.ZSTD?.(bytes, 0) ?? []);
  setCompressionCodec(CompressionType.ZSTD, { encode, decode: zstd });
  setCompressionCodec(CompressionType.LZ4_FRAME, { encode, decode: decodeLz4Frame });
  const table = tableFromIPC(await source.bytes(), { useBigInt: true });
  const names = table.schema.fields.map(({ name }) => name);
  if (names.length === 0) throw new Error('it holds no table of Arrow');
  const places = placesOf(path, names, wanted);
  const rows = table.numRows;
  const isSingle = places.every((place) => isFloat32(table.schema.fields[place]?.type));
  const data = new (isSingle ? Float32Array : Float64Array)(rows * places.length);
  for (const [k, place] of places.entries()) {
    let at = k * rows;
    for (const cell of table.getChildAt(place) as Iterable<unknown>) {
      const value = cellNumber(cell);
      if (value === undefined) {
        throw noNumber(path, `row ${at - k * rows}`, names[place] ?? '', describeValue(cell));
      }
      data[at++] = value;
    }
  }
  return {
    dtype: isSingle ? 'float32' : 'float64',
    shape: [rows, places.length],
    fortranOrder: true,
    data,
    names: places.map((place) => names[place] ?? ''),
  };
}

function encode(): never {
  throw new Error('nothing is written compressed');
}

const isFloat32 = (type: DataType | undefined): boolean =>
  type?.typeId === Type.Float && type.precision === Precision.SINGLE;
