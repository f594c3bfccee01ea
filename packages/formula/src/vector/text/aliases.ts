import { FormulaError } from '../../formula-error.js';
import { isVectorExpr } from '../intern-vector.js';
import { input } from '../nodes.js';
import type { Category, VariableNode } from '../vector-expr.js';
import { checkInputs } from './check-inputs.js';
import { DEFAULT_LIMITS } from './limits.js';
import { OPERATIONS } from './operation-names.js';
import { TokenReader } from './token-reader.js';
import type { Token } from './tokens.js';

/** Names of inputs: texts such as `x = Vi(0, 3)` or `x = Vi(3)`, or inputs by name. */
export type Aliases = readonly string[] | Readonly<Record<string, VariableNode>>;

const CATEGORY_OF: ReadonlyMap<string, Category | undefined> = new Map([
  ['Vi', 'i'],
  ['Vx', 'i'],
  ['Vj', 'j'],
  ['Vy', 'j'],
  ['Vij', 'pair'],
  ['Pm', 'parameter'],
  ['Var', undefined],
] as const);

/** The names by which text writes an input. */
export const VARIABLE_NAMES: ReadonlySet<string> = new Set(CATEGORY_OF.keys());

const RESERVED: ReadonlySet<string> = new Set(['Index_i', 'Index_j', 'inf', 'nan', 'Ind']);

/**
 * Inputs by name, in the order given. An alias without a position has its place in the list.
 *
 * Throws `FormulaError`: `SYNTAX`, `INVALID_NAME` for a name that is taken or no name,
 * `INVALID_ARGUMENT` for dim 0 or two inputs at one position.
 *
 * ```ts
 * import { parseAliases } from '@mercer/formula';
 * const inputs = parseAliases(['x = Vi(3)', 'g = Pm(1)']);
 * console.log(inputs.get('g')?.category, inputs.get('g')?.position); // parameter 1
 * ```
 */
export function parseAliases(aliases: Aliases): Map<string, VariableNode> {
  const given: unknown = aliases;
  if (typeof given !== 'object' || given === null) {
    const found = typeof given === 'string' ? `the text ${JSON.stringify(given)}` : String(given);
    throw new FormulaError(
      'INVALID_ARGUMENT',
      `cannot read the aliases: they are ${found}. Pass a list of texts, such as ['x = Vi(3)', 'y = Vj(3)'].`,
    );
  }
  const named = new Map<string, VariableNode>();
  const entries = isTexts(aliases)
    ? aliases.map((text, place) => readAlias(text, place))
    : Object.entries(aliases);
  for (const [name, variable] of entries) {
    checkName(name, named);
    const node: unknown = variable;
    if (!isVectorExpr(node) || node.kind !== 'variable') {
      throw new FormulaError(
        'INVALID_ARGUMENT',
        `cannot read the alias '${name}': it stands for no input. Pass one such as vi(0, 3).`,
      );
    }
    named.set(name, variable);
  }
  checkInputs(...named.values());
  return named;
}

const isTexts = (aliases: Aliases): aliases is readonly string[] => Array.isArray(aliases);

function readAlias(text: string, place: number): readonly [string, VariableNode] {
  const reader = new TokenReader(text, DEFAULT_LIMITS);
  const name = reader.take();
  if (name.kind !== 'name') throw reader.error(name, "a name, as in 'x = Vi(0, 3)'");
  reader.expect('=', `after the name '${name.text}', as in '${name.text} = Vi(0, 3)'`);
  const kind = reader.take();
  if (!VARIABLE_NAMES.has(kind.text)) throw reader.error(kind, 'Vi, Vj, Vij, Pm or Var');
  const node = readInput(reader, kind, place);
  if (reader.peek().kind !== 'end') throw reader.error(reader.peek(), 'the end of the alias');
  return [name.text, node];
}

function checkName(name: string, named: ReadonlyMap<string, unknown>): void {
  const isTaken =
    OPERATIONS.has(name) || VARIABLE_NAMES.has(name) || RESERVED.has(name) || named.has(name);
  if (!isTaken && /^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(name)) return;
  throw new FormulaError(
    'INVALID_NAME',
    `cannot read the alias: ${JSON.stringify(name.slice(0, 70))} is ${isTaken ? 'taken' : 'no name'}. ` +
      `Use letters, digits and underscores (at most 64, no leading digit), each name once, ` +
      `and no name of an operation.`,
  );
}

/** Reads `(dim)`, `(position, dim)` or, for Var, `(position, dim, category)`. */
export function readInput(reader: TokenReader, name: Token, place?: number): VariableNode {
  reader.expect('(', `after ${name.text}`);
  const numbers = [integerToken(reader)];
  while (reader.at(',')) {
    reader.take();
    numbers.push(integerToken(reader));
  }
  const end = reader.expect(')', `after the numbers of ${name.text}`);
  const category = CATEGORY_OF.get(name.text);
  if (category === undefined) {
    const [position, dim, number] = numbers;
    const byNumber = (['i', 'j', 'parameter', 'pair'] as const)[number ?? -1];
    if (numbers.length !== 3 || byNumber === undefined) {
      throw reader.error(
        end,
        'Var(position, dim, category) with category 0 (i), 1 (j), 2 (parameter) or 3 (pair)',
      );
    }
    return reader.located(name, () => input(byNumber, position!, dim!));
  }
  if (numbers.length === 2) {
    return reader.located(name, () => input(category, numbers[0]!, numbers[1]!));
  }
  if (numbers.length === 1 && place !== undefined) {
    return reader.located(name, () => input(category, place, numbers[0]!));
  }
  throw reader.error(
    end,
    `${name.text}(position, dim)`,
    place === undefined ? 'Inside a formula an input needs its position.' : '',
  );
}

function integerToken(reader: TokenReader): number {
  const token = reader.take();
  if (token.kind === 'number' && Number.isSafeInteger(Number(token.text)))
    return Number(token.text);
  throw reader.error(token, 'a whole number that is not negative');
}
