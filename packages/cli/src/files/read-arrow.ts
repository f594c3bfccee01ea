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
  setCompressionCodec(CompressionType.ZSTD, {
    encode: () => {
      throw new Error('nothing is written compressed');
    },
    decode: (bytes) => compressors.ZSTD?.(bytes, 0) as Uint8Array<ArrayBuffer>,
  });
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

const isFloat32 = (type: DataType | undefined): boolean =>
  type?.typeId === Type.Float && type.precision === Precision.SINGLE;
