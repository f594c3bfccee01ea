import { describeInput, type Input } from './input.js';
import { LazyError } from './lazy-error.js';
import { LazyFormula } from './lazy-formula.js';
import {
  asTable,
  isPlaceholder,
  placeholderInput,
  tableInput,
  type LazyData,
  type Placeholder,
} from './make-input.js';

/** The input of a table: of data, of an argument of a later call, or of a variable's rows. @throws LazyError, MercerError */
export function tableOf(what: string, table: LazyData | LazyFormula | Placeholder): Input {
  if (!(table instanceof LazyFormula)) {
    if (!isPlaceholder(table)) return tableInput(what, table, undefined);
    const { position, dim } = table;
    return asTable(placeholderInput(what, 'parameter', position, dim, undefined));
  }
  const [input] = table.inputs;
  if (table.formula.kind === 'variable' && input !== undefined) {
    if (input.category !== 'pair') return asTable(input);
    throw new LazyError(
      'INVALID_ARGUMENT',
      `${what}: the table is ${describeInput(input)}, which one row number does not find. Pass data with rows, or what lazyI or lazyJ made.`,
    );
  }
  throw new LazyError(
    'INVALID_ARGUMENT',
    `${what}: the table ${String(table)} is no variable but a formula, whose rows are not stored. Pass data, or what lazyI or lazyJ made.`,
  );
}
