import type { Table } from './table-columns.js';

/** Characters of a piece that is written at once. */
const PIECE = 2 ** 16;

/** A line for each row; the names of columns before them where they have some. NaN and infinities are `nan`, `inf` and `-inf`. */
export function csvPieces(table: Table, delimiter: string): Generator<Uint8Array> {
  const quote = (name: string): string =>
    /["\r\n]/.test(name) || name.includes(delimiter) ? `"${name.replaceAll('"', '""')}"` : name;
  const number = shortest(table, { nan: 'nan', infinity: 'inf' });
  const head = table.names?.map(quote).join(delimiter);
  return pieces(table, head, (row) => row.map(number).join(delimiter));
}

/** An array for each row, or an object where columns have names. JSON has no NaN, which is null, and infinity is a number too large for a double. */
export function jsonLinesPieces(table: Table): Generator<Uint8Array> {
  const number = shortest(table, { nan: 'null', infinity: '1e999' });
  const keys = table.names?.map((name) => `${JSON.stringify(name)}:`);
  return pieces(table, undefined, (row) =>
    keys === undefined
      ? `[${row.map(number).join(',')}]`
      : `{${row.map((value, at) => (keys[at] ?? '') + number(value)).join(',')}}`,
  );
}

function* pieces(
  { rows, columns, cell }: Table,
  head: string | undefined,
  lineOf: (row: readonly (number | bigint)[]) => string,
): Generator<Uint8Array> {
  let text = head === undefined ? '' : `${head}\n`;
  const line = new Array<number | bigint>(columns);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) line[column] = cell(row, column);
    text += `${lineOf(line)}\n`;
    if (text.length < PIECE) continue;
    yield Buffer.from(text);
    text = '';
  }
  if (text !== '') yield Buffer.from(text);
}

/** The fewest digits that are read as the same value again: of a float32 other than of a double. */
function shortest(
  { dtype }: Table,
  { nan, infinity }: { readonly nan: string; readonly infinity: string },
): (value: number | bigint) => string {
  const isSingle = dtype === 'float32' || dtype === 'float16';
  return (value) => {
    if (typeof value === 'bigint' || Number.isInteger(value)) return String(value);
    if (Number.isNaN(value)) return nan;
    if (!Number.isFinite(value)) return value < 0 ? `-${infinity}` : infinity;
    if (!isSingle) return String(value);
    for (let digits = 6; digits < 9; digits++) {
      const rounded = Number(value.toPrecision(digits));
      if (Math.fround(rounded) === value) return String(rounded);
    }
    return String(Number(value.toPrecision(9)));
  };
}
