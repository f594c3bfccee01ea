import { createReadStream } from 'node:fs';
import { quoted, printable, type NpyArray } from '@mercer/core/npy';
import { parse } from 'csv-parse';
import { CliError } from '../cli-error.js';
import { noNumber, placesOf } from './choose-columns.js';

/** Texts that stand for no value, and for infinity. */
const WORDS: Readonly<Record<string, number>> = {
  '': NaN,
  nan: NaN,
  na: NaN,
  null: NaN,
  inf: Infinity,
  '+inf': Infinity,
  '-inf': -Infinity,
  infinity: Infinity,
  '-infinity': -Infinity,
};

/** A number as text, NaN where there is none; undefined for other texts. */
function numberOf(text: string): number | undefined {
  const word = text.toLowerCase();
  if (Object.hasOwn(WORDS, word)) return WORDS[word];
  // not what JavaScript alone reads, such as 0x10
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : undefined;
}

/**
 * Columns of a file of text as a matrix. The first line names the columns, unless all of it are numbers: then columns go by their number, from 0 on.
 *
 * @throws CliError USAGE, DTYPE_MISMATCH, SHAPE_MISMATCH; what reading and csv-parse throw
 */
export async function readCsv(
  path: string,
  delimiter: string,
  wanted: readonly string[] | undefined,
): Promise<NpyArray<'float64'>> {
  const parser = parse({ delimiter, bom: true, trim: true, skip_empty_lines: true });
  const file = createReadStream(path);
  file.on('error', (error) => parser.destroy(error));
  let names: readonly string[] | undefined;
  let places: readonly number[] = [];
  let rows = 0;
  let data = new Float64Array(1024);
  for await (const cells of file.pipe(parser) as AsyncIterable<readonly string[]>) {
    if (names === undefined) {
      const isHeader = cells.some((cell) => numberOf(cell) === undefined);
      names = isHeader ? cells : cells.map((_, place) => String(place));
      places = placesOf(path, names, wanted);
      if (isHeader) continue;
    }
    const end = (rows + 1) * places.length;
    if (end > data.length) {
      const larger = new Float64Array(2 * end);
      larger.set(data);
      data = larger;
    }
    for (const [k, place] of places.entries()) {
      const cell = cells[place] ?? '';
      const value = numberOf(cell);
      if (value === undefined) throw noNumber(path, rows, names[place] ?? '', quoted(cell));
      data[rows * places.length + k] = value;
    }
    rows++;
  }
  if (rows === 0) {
    throw new CliError(
      'SHAPE_MISMATCH',
      `Cannot use '${printable(path)}': it has no rows of numbers. Save one or more.`,
    );
  }
  const shape = [rows, places.length];
  return {
    dtype: 'float64',
    shape,
    fortranOrder: false,
    data: data.subarray(0, rows * places.length),
  };
}
