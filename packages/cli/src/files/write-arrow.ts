import { tableFromArrays, tableToIPC } from '@uwdata/flechette';
import { columnNames, columnOf, type Table } from './table-columns.js';

/** An Arrow file (IPC), not compressed. */
export function* arrowPieces(table: Table): Generator<Uint8Array> {
  const columns = columnNames(table).map((name, at) => [name, columnOf(table, at)] as const);
  const bytes = tableToIPC(tableFromArrays([...columns] as [string, Float64Array][]), {
    format: 'file',
  });
  if (bytes !== null) yield bytes;
}
