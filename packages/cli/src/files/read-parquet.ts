import { describeValue } from '@mercer/options';
import type { NpyArray } from '@mercer/core/npy';
import { asyncBufferFromFile, parquetMetadataAsync, parquetRead, parquetSchema } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import type { CliError } from '../cli-error.js';
import { noNumber, placesOf } from './choose-columns.js';

/**
 * Columns of a Parquet file as a matrix: float32 where all of them are, else float64, with NaN where there is no value.
 *
 * @throws CliError USAGE, DTYPE_MISMATCH; what reading and hyparquet throw
 */
export async function readParquet(
  path: string,
  wanted: readonly string[] | undefined,
): Promise<NpyArray<'float32' | 'float64'>> {
  const file = await asyncBufferFromFile(path);
  const metadata = await parquetMetadataAsync(file);
  const elements = parquetSchema(metadata).children.map(({ element }) => element);
  const names = elements.map(({ name }) => name);
  const places = placesOf(path, names, wanted);
  const columns = places.map((place) => names[place] ?? '');
  const rows = Number(metadata.num_rows);
  const isSingle = places.every((place) => elements[place]?.type === 'FLOAT');
  const data = new (isSingle ? Float32Array : Float64Array)(rows * places.length);
  // what is thrown where chunks arrive reaches nobody
  let failed: CliError | undefined;
  await parquetRead({
    file,
    metadata,
    columns,
    compressors,
    onChunk: ({ columnName, columnData, rowStart }) => {
      const start = columns.indexOf(columnName) * rows + rowStart;
      for (let row = 0; row < columnData.length; row++) {
        const value = numberOf(columnData[row]);
        if (value === undefined) {
          failed ??= noNumber(path, rowStart + row, columnName, describeValue(columnData[row]));
          return;
        }
        data[start + row] = value;
      }
    },
  });
  if (failed !== undefined) throw failed;
  return {
    dtype: isSingle ? 'float32' : 'float64',
    shape: [rows, places.length],
    fortranOrder: true,
    data,
  };
}

function numberOf(value: unknown): number | undefined {
  if (value === null || value === undefined) return NaN;
  const isNumber = ['number', 'bigint', 'boolean'].includes(typeof value);
  return isNumber ? Number(value) : undefined;
}
