import { describeValue } from '@mercer/options';
import { quoted } from '@mercer/core/npy';
import { CliError } from '../cli-error.js';
import { cellNumber, noNumber, placesOf } from './choose-columns.js';
import { shownPath } from './file-name.js';
import { GrowingRows } from './growing-rows.js';
import type { NamedArray } from './named-array.js';
import type { Source } from './source.js';

/** What is longer is no file of lines. */
const MOST_CHARACTERS_OF_A_LINE = 2 ** 24;

/**
 * Columns of a file with one JSON value a line as a matrix: arrays of numbers, or objects, whose keys are columns as the first line names them.
 * null is NaN, true and false are 1 and 0.
 *
 * @throws CliError USAGE, DTYPE_MISMATCH, SHAPE_MISMATCH, BAD_FILE; what reading throws
 */
export async function readJsonLines(
  source: Source,
  wanted: readonly string[] | undefined,
): Promise<NamedArray<'float64'>> {
  const { path } = source;
  const rows = new GrowingRows();
  let table: { names: readonly string[]; places: readonly number[]; isNamed: boolean } | undefined;
  let number = 0;
  for await (const line of linesOf(source)) {
    number++;
    if (line.trim() === '') continue;
    const value = parsed(path, number, line);
    if (table === undefined) {
      const names = Object.keys(value);
      table = { names, places: placesOf(path, names, wanted), isNamed: !Array.isArray(value) };
    }
    const { names, places, isNamed } = table;
    if (isNamed === Array.isArray(value) || (!isNamed && value.length !== names.length)) {
      throw ragged(path, number, value, isNamed ? 'an object' : `an array of ${names.length}`);
    }
    const { data, start } = rows.next(places.length);
    for (const [k, place] of places.entries()) {
      const name = names[place] ?? '';
      if (!Object.hasOwn(value, name)) {
        throw bad(path, number, `it has no ${quoted(name)}, which the first line has. Write null`);
      }
      const cell = (value as Readonly<Record<string, unknown>>)[name];
      const found = cellNumber(cell);
      if (found === undefined) {
        const where = `line ${number} (row ${rows.rows - 1})`;
        throw noNumber(path, where, name, describeValue(cell));
      }
      data[start + k] = found;
    }
  }
  const { names, places, isNamed } = table ?? { names: [], places: [], isNamed: false };
  return rows.finish(path, isNamed ? places.map((place) => names[place] ?? '') : undefined);
}

type Row = readonly unknown[] | (Readonly<Record<string, unknown>> & { readonly length?: never });

function parsed(path: string, number: number, line: string): Row {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    throw bad(path, number, `it is no JSON (${(error as Error).message})`);
  }
  if (typeof value === 'object' && value !== null) return value as Row;
  throw ragged(path, number, value, 'an array or an object');
}

const ragged = (path: string, line: number, value: unknown, expected: string): CliError =>
  bad(
    path,
    line,
    `it is ${Array.isArray(value) ? `an array of ${value.length}` : describeValue(value)}, and the lines before it ask for ${expected}`,
  );

const bad = (path: string, line: number, why: string): CliError =>
  new CliError('BAD_FILE', `Cannot read ${shownPath(path)}: line ${line}: ${why}.`);

async function* linesOf({ path, pieces }: Source): AsyncGenerator<string> {
  const decoder = new TextDecoder(); // leaves a byte order mark out
  let rest = '';
  let count = 0;
  for await (const piece of pieces()) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    count += lines.length;
    if (rest.length > MOST_CHARACTERS_OF_A_LINE) {
      throw bad(path, count + 1, 'it is longer than 16 MiB, so this is no file of lines');
    }
    yield* lines;
  }
  yield rest + decoder.decode();
}
