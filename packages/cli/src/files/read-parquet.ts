import { describeValue } from '@mercer/options';
import {
  asyncBufferFromFile,
  parquetMetadataAsync,
  parquetRead,
  parquetSchema,
  type AsyncBuffer,
} from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import type { CliError } from '../cli-error.js';
import { cellNumber, noNumber, placesOf } from './choose-columns.js';
import type { NamedArray } from './named-array.js';
import type { Source } from './source.js';

/**
 * Columns of a Parquet file as a matrix: float32 where all of them are, else float64, with NaN where there is no value.
 *
 * @throws CliError USAGE, DTYPE_MISMATCH; what reading and hyparquet throw
 */
export async function readParquet(
  source: Source,
  wanted: readonly string[] | undefined,
): Promise<NamedArray<'float32' | 'float64'>> {
  const { path } = source;
  const file = await asyncBuffer(source);
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
  let done = 0;
  await parquetRead({
    file,
    metadata,
    columns,
    compressors,
    onChunk: ({ columnName, columnData, rowStart }) => {
      const start = columns.indexOf(columnName) * rows + rowStart;
      for (let row = 0; row < columnData.length; row++) {
        const value = cellNumber(columnData[row]);
        if (value === undefined) {
          const found = describeValue(columnData[row]);
          failed ??= noNumber(path, `row ${rowStart + row}`, columnName, found);
          return;
        }
        data[start + row] = value;
      }
      done += columnData.length * data.BYTES_PER_ELEMENT;
      source.watch.onProgress?.({ done, total: data.byteLength });
    },
  });
  if (failed !== undefined) throw failed;
  return {
    dtype: isSingle ? 'float32' : 'float64',
    shape: [rows, places.length],
    fortranOrder: true,
    data,
    names: columns,
  };
}

async function asyncBuffer(source: Source): Promise<AsyncBuffer> {
  const whole = await source.whole();
  if (typeof whole === 'string') return asyncBufferFromFile(whole);
  const { buffer, byteOffset, byteLength } = whole;
  return {
    byteLength,
    slice: (start, end = byteLength) =>
      buffer.slice(byteOffset + start, byteOffset + end) as ArrayBuffer,
  };
}
