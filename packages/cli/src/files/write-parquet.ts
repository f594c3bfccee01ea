import { ByteWriter, ParquetWriter, type BasicType } from 'hyparquet-writer';
import { columnNames, columnOf, type Table } from './table-columns.js';

/** Cells of a group of rows: what is held encoded at once. */
const GROUP_CELLS = 2 ** 20;

/** A Parquet file, compressed with Snappy, in groups of rows. */
export function* parquetPieces(table: Table): Generator<Uint8Array> {
  const names = columnNames(table);
  const type = typeOf(table);
  const writer = new ByteWriter();
  const file = new ParquetWriter({
    writer,
    schema: [
      { name: 'root', num_children: names.length },
      ...names.map((name) => ({ name, type, repetition_type: 'REQUIRED' as const })),
    ],
  });
  // the writer counts its offsets apart from what lies in its buffer
  const taken = (): Uint8Array => {
    const bytes = writer.getBytes().slice();
    writer.index = 0;
    return bytes;
  };
  const group = Math.max(1, Math.ceil(GROUP_CELLS / Math.max(1, names.length)));
  for (let start = 0; start < table.rows; start += group) {
    const rows = Math.min(group, table.rows - start);
    const part: Table = { ...table, rows, cell: (row, column) => table.cell(start + row, column) };
    const columnData = names.map((name, at) => ({ name, type, data: columnOf(part, at) }));
    void file.write({ columnData, rowGroupSize: rows });
    yield taken();
  }
  void file.finish();
  yield taken();
}

function typeOf({ dtype }: Table): BasicType & ('DOUBLE' | 'FLOAT' | 'INT64' | 'INT32') {
  if (dtype === 'float64') return 'DOUBLE';
  if (dtype === 'float32' || dtype === 'float16') return 'FLOAT';
  return dtype === 'int64' ? 'INT64' : 'INT32';
}
