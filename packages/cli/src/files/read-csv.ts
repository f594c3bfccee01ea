import { Readable } from 'node:stream';
import { quoted } from '@mercer/core/npy';
import { parse } from 'csv-parse';
import { noNumber, placesOf } from './choose-columns.js';
import { GrowingRows } from './growing-rows.js';
import type { NamedArray } from './named-array.js';
import type { Source } from './source.js';

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

/** Of one line: what is longer, such as a quote that nobody closes, is no table. */
const MOST_BYTES_OF_A_ROW = 2 ** 24;

/** A number as text, NaN where there is none; undefined for other texts. */
function numberOf(text: string): number | undefined {
  const word = text.toLowerCase();
  if (Object.hasOwn(WORDS, word)) return WORDS[word];
  // not what JavaScript alone reads, such as 0x10
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : undefined;
}

interface Line {
  readonly record: readonly string[];
  readonly info: { readonly lines: number };
}

/**
 * Columns of a file of text as a matrix. The first line names the columns, unless all of it are numbers: then columns go by their number, from 0 on.
 *
 * @throws CliError USAGE, DTYPE_MISMATCH, SHAPE_MISMATCH; what reading and csv-parse throw
 */
export async function readCsv(
  source: Source,
  delimiter: string,
  wanted: readonly string[] | undefined,
): Promise<NamedArray<'float64'>> {
  const { path } = source;
  const parser = parse({
    delimiter,
    bom: true,
    trim: true,
    skip_empty_lines: true,
    info: true,
    max_record_size: MOST_BYTES_OF_A_ROW,
  });
  const input = Readable.from(source.pieces(), { objectMode: false });
  input.on('error', (error) => parser.destroy(error));
  const rows = new GrowingRows();
  let names: readonly string[] | undefined;
  let hasHeader = false;
  let places: readonly number[] = [];
  try {
    for await (const { record, info } of input.pipe(parser) as AsyncIterable<Line>) {
      if (names === undefined) {
        hasHeader = record.some((cell) => numberOf(cell) === undefined);
        names = hasHeader ? record : record.map((_, place) => String(place));
        places = placesOf(path, names, wanted);
        if (hasHeader) continue;
      }
      const { data, start } = rows.next(places.length);
      for (const [k, place] of places.entries()) {
        const cell = record[place] ?? '';
        const value = numberOf(cell);
        if (value === undefined) {
          const where = `line ${info.lines} (row ${rows.rows - 1})`;
          throw noNumber(path, where, names[place] ?? '', quoted(cell));
        }
        data[start + k] = value;
      }
    }
  } finally {
    input.destroy();
  }
  return rows.finish(path, hasHeader ? places.map((place) => names?.[place] ?? '') : undefined);
}
