import { assertVectorExpr } from '../intern-vector.js';
import { describeValue, isMap, type OptionNames } from '@mercer/options';
import { FormulaError } from '../../formula-error.js';
import { readOptions } from '../../read-options.js';
import { postOrderVector } from '../post-order-vector.js';
import type { Kind, NodeOfKind, VariableNode, VectorExpr } from '../vector-expr.js';
import { ELEMENTWISE_NAMES } from './elementwise-names.js';
import { inputText } from './input-text.js';
import {
  contractionText,
  interleaveText,
  placeText,
  shortForm,
  sliceText,
  sumText,
} from './print-patterns.js';
import {
  at,
  ATOM,
  call,
  DOT,
  infix,
  POWER,
  printLiteral,
  PRODUCT,
  right,
  SIGN,
  SUM,
  COMPARE,
  wrap,
  type Printed,
} from './printed.js';

type PrintRule<K extends Kind> = (node: NodeOfKind<K>, args: readonly Printed[]) => Printed;

const INFIX: Readonly<Record<string, readonly [symbol: string, level: number]>> = {
  add: ['+', SUM],
  sub: ['-', SUM],
  mul: ['*', PRODUCT],
  div: ['/', PRODUCT],
  lt: ['<', COMPARE],
  le: ['<=', COMPARE],
  gt: ['>', COMPARE],
  ge: ['>=', COMPARE],
  eq: ['==', COMPARE],
  ne: ['!=', COMPARE],
};

const RULES: { readonly [K in Exclude<Kind, 'variable' | 'gather'>]: PrintRule<K> } = {
  literal: ({ value }) => printLiteral(value),
  zero: ({ dim }) => call('Zero', [dim]),
  index: ({ axis }) => at(ATOM, `Index_${axis}`),
  elementwise: (node, args) => {
    const { op, attributes } = node;
    const [a, b] = args as readonly [Printed, Printed];
    const operator = INFIX[op];
    if (operator !== undefined) return infix(operator[0], operator[1], a, b);
    if (op === 'neg') return { ...at(SIGN, `-${right(a, POWER)}`), depth: a.depth + 1 };
    const exponent = node.args[1];
    // Text `x ** 2` is the square.
    if (op === 'pow' && !(exponent?.kind === 'literal' && exponent.value === 2)) {
      const depth = Math.max(a.depth, b.depth) + 1;
      return { ...at(POWER, `${wrap(a, ATOM)} ** ${right(b, POWER)}`), depth };
    }
    const isDefault = op === 'sinXDivX' && attributes[0] === 0;
    return call(ELEMENTWISE_NAMES[op], [...args, ...(isDefault ? [] : attributes)]);
  },
  components: (node, args) => sumText(node, args),
  repeat: ({ dim }, args) => call('SumT', [...args, dim]),
  slice: (node, args) => sliceText(node, args),
  place: (node, args) => placeText(node, args),
  concat: (_, args) => call('Concat', args),
  interleave: (node, args) => interleaveText(node, args),
  contract: (node, args) => contractionText(node, args),
  oneHot: ({ dim }, args) => call('OneHot', [...args, dim]),
};

/** How a formula is written. */
export interface PrintOptions {
  /** Names of inputs; one without a name is written as `Vi(0, 3)`. */
  readonly names?: ReadonlyMap<string, VariableNode> | Readonly<Record<string, VariableNode>>;
}

const PRINT_OPTIONS: OptionNames<PrintOptions> = { names: true };

/** Written out, parts that occur several times would take more nodes than this. */
const LARGEST_TREE = 120;
/** Text that is nested deeper gets a name, so that it can be read back. */
const DEEPEST = 40;

/**
 * A formula as text that `parseFormula` reads back as the same node, given the same names. In a
 * large formula, parts that occur several times get a name: `t0 = ...; t0 * Exp(t0)`. Without `names`
 * the text depends on the formula alone and is the same in every process: it can serve as a key.
 *
 * ```ts
 * import { ops, printFormula, vi, vj } from '@mercer/formula';
 * const [x, y] = [vi(0, 3), vj(1, 3)];
 * console.log(printFormula(ops.exp(ops.neg(ops.sqDist(x, y))), { names: { x, y } })); // Exp(-SqDist(x, y))
 * ```
 */
export function printFormula(root: VectorExpr, options?: PrintOptions): string {
  assertVectorExpr(root, 'printFormula');
  const { parts, texts } = printAll('printFormula', [root], options);
  return parts + texts[0]!;
}

function checkNames(what: string, names: unknown): void {
  if (typeof names === 'object' && names !== null) return;
  throw new FormulaError(
    'INVALID_ARGUMENT',
    `${what}: names is ${describeValue(names)}. Pass inputs by name, as { x, y }.`,
  );
}

/** Formulas that share named parts. */
export function printAll(
  what: string,
  roots: readonly VectorExpr[],
  options?: PrintOptions,
): { readonly parts: string; readonly texts: readonly string[] } {
  const { names = {} } = readOptions(what, options, PRINT_OPTIONS);
  checkNames(what, names);
  const entries: Iterable<[string, VariableNode]> = isMap(names) ? names : Object.entries(names);
  const nameOf = new Map([...entries].map(([name, node]) => [node, name]));
  const taken = new Set(nameOf.values());
  const order = postOrderVector(...roots);
  const shared = sharedParts(order, roots);
  const texts = new Map<VectorExpr, Printed>();
  const parts: string[] = [];
  let count = 0;
  for (const node of order) {
    const printed = printNode(node, texts, nameOf, shared);
    const isNamed = !roots.includes(node) && (shared.has(node) || printed.depth > DEEPEST);
    if (!isNamed) {
      texts.set(node, printed);
      continue;
    }
    while (taken.has(`t${count}`)) count++;
    const name = `t${count++}`;
    parts.push(`${name} = ${printed.text}; `);
    texts.set(node, at(ATOM, name));
  }
  return { parts: parts.join(''), texts: roots.map((root) => texts.get(root)!.text) };
}

function printNode(
  node: VectorExpr,
  texts: ReadonlyMap<VectorExpr, Printed>,
  nameOf: ReadonlyMap<VariableNode, string>,
  shared: ReadonlySet<VectorExpr>,
): Printed {
  const args = node.args.map((arg) => texts.get(arg)!);
  const variable = (input: VariableNode): Printed =>
    at(ATOM, nameOf.get(input) ?? inputText(input));
  if (node.kind === 'variable') return variable(node);
  if (node.kind === 'gather') return call('Gather', [variable(node.table), ...args]);
  const short = shortForm(node, shared);
  if (short !== undefined) {
    const shown = short.args.map((arg) => texts.get(arg)!);
    return short.name === '|' ? infix('|', DOT, shown[0]!, shown[1]!) : call(short.name, shown);
  }
  // One untyped step for the table: the kind chooses the rule.
  return (RULES[node.kind] as PrintRule<Kind>)(node, args);
}

/** Parts to name: those used several times, in a formula that would be long without names. */
function sharedParts(
  order: readonly VectorExpr[],
  roots: readonly VectorExpr[],
): ReadonlySet<VectorExpr> {
  const sizes = new Map<VectorExpr, number>();
  const uses = new Map<VectorExpr, number>();
  for (const node of order) {
    let size = 1;
    for (const arg of node.args) {
      size += sizes.get(arg)!;
      uses.set(arg, (uses.get(arg) ?? 0) + 1);
    }
    sizes.set(node, size);
  }
  const whole = roots.reduce((sum, root) => sum + sizes.get(root)!, 0);
  if (whole <= LARGEST_TREE) return new Set();
  return new Set(order.filter((node) => uses.get(node)! > 1 && sizes.get(node)! > 2));
}
