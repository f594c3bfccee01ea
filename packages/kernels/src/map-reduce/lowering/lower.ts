import {
  constant,
  eq,
  lt,
  mul,
  scalarOf,
  select,
  simplify,
  substitute,
  variable,
  type Combine,
  type NodeOfKind,
  type RealExpr,
  type Steps,
  type VectorExpr,
  postOrderVector,
} from '@mercer/formula/plan';
import { expandFunctions } from '../../math/expand-functions.js';
import { PlanError } from '../../plan-error.js';
import type {
  TakenRow,
  RowGather,
  ComponentLoad,
  ComponentLoop,
  ComponentNumber,
} from '../loops/loop-formula.js';
import { contractionIndices, type ContractionIndices } from './contraction-index.js';
import {
  affineIndex,
  clampIndex,
  counterIndex,
  divideIndex,
  fixedIndex,
  indexCounters,
  indexRange,
  indexText,
  type IndexExpr,
} from './index-expr.js';
import { onOwnStack, type Asked } from './own-stack.js';
import { oneHotOf, WRITTEN_COMBINE } from './lower-combine.js';

/** The scalar variables that stand for the row numbers. */
export const ROW_NAMES = { i: 'rowNumberI', j: 'rowNumberJ' } as const;

/** How a schedule writes formulas. */
export interface LoweringOptions {
  /** Combinations of at most so many values are written out; longer ones are loops. */
  readonly longest: number;
  /** Different values of parts of formulas at most. */
  readonly values: number;
  /** What the names of rows by index begin with. */
  readonly rowName: string;
  /** The scalar variable for component `index` of an input, of the row by index `row` where there is one; `n` counts them. */
  readonly loadName: (
    input: NodeOfKind<'variable'>,
    index: IndexExpr,
    row: string | undefined,
    n: number,
  ) => string;
}

/** A loop whose body is still an expression. */
export type LoweredLoop = Omit<ComponentLoop, 'root'> & { readonly body: RealExpr };

/** A row by index whose number is still an expression. */
export type LoweredGather = Omit<RowGather, 'root'> &
  Pick<TakenRow, 'follows'> & { readonly index: RealExpr };

/** What the expressions of a lowered formula stand on. */
export interface Lowered {
  readonly loads: readonly ComponentLoad[];
  readonly numbers: readonly ComponentNumber[];
  readonly loops: readonly LoweredLoop[];
  readonly gathers: readonly LoweredGather[];
  /** The formula's component `index`, not simplified. */
  readonly at: (formula: VectorExpr, index: IndexExpr) => Steps<RealExpr>;
}

interface State {
  readonly options: LoweringOptions;
  readonly loads: Map<string, ComponentLoad>;
  readonly numbers: Map<string, ComponentNumber>;
  readonly loops: LoweredLoop[];
  readonly gathers: LoweredGather[];
  /** Counters of loops by the loop that they stand in and their size. */
  readonly counters: Map<string, { readonly name: string; readonly depth: number }>;
  readonly known: Map<VectorExpr, Map<string | number, RealExpr>>;
  readonly contractions: Map<VectorExpr, ContractionIndices>;
  /** Components that were lowered, or are being lowered. */
  opened: number;
}

/** Lowers components of formulas on demand; what was lowered for one serves the others. */
export function lowering(options: LoweringOptions): Lowered {
  const state: State = {
    options,
    loads: new Map(),
    numbers: new Map(),
    loops: [],
    gathers: [],
    counters: new Map(),
    known: new Map(),
    contractions: new Map(),
    opened: 0,
  };
  return {
    get loads() {
      return [...state.loads.values()];
    },
    get numbers() {
      return [...state.numbers.values()];
    },
    loops: state.loops,
    gathers: state.gathers,
    at: (node, index) => onOwnStack({ node, index }, (wanted) => ask(state, wanted)),
  };
}

/** A component of a part of the formula, which a rule waits for. */
interface Wanted {
  readonly node: VectorExpr;
  readonly index: IndexExpr;
}

/** A rule of lowering. */
type Lowering<T> = Generator<Wanted, T, RealExpr>;

function ask(state: State, { node, index: wanted }: Wanted): Asked<Wanted, RealExpr> {
  const index = node.dim === 1 ? fixedIndex(0) : wanted;
  const ofNode = state.known.get(node) ?? new Map<string | number, RealExpr>();
  state.known.set(node, ofNode);
  const key = isFixed(index) ? index.constant : indexText(index);
  const known = ofNode.get(key);
  if (known !== undefined) return { known };
  if (++state.opened > state.options.values) throw tooLong(state.options.values);
  return { keep: (value) => ofNode.set(key, value), rule: lowerAt(state, node, index) };
}

const isFixed = ({ terms }: IndexExpr): boolean => terms.length === 0;

function tooLong(limit: number): PlanError {
  return new PlanError(
    'LIMIT',
    `cannot plan a map-reduce: the formula computes more than ${limit} different values for a pair of rows, and ${limit} is the limit of a ` +
      `text that is compiled. Compute parts of the formula first and pass them as inputs, or compute on the CPU, where ` +
      `the interpreter takes longer formulas.`,
    { ofText: true },
  );
}

/** Asks for a component. */
function* at(node: VectorExpr, index: IndexExpr): Lowering<RealExpr> {
  return yield { node, index };
}

function* lowerAt(state: State, node: VectorExpr, index: IndexExpr): Lowering<RealExpr> {
  const [first] = node.args;
  switch (node.kind) {
    case 'literal':
      return constant(node.value);
    case 'zero':
      return constant(0);
    case 'index':
      return variable(ROW_NAMES[node.axis]);
    case 'variable':
      return load(state, node, index);
    case 'elementwise':
      return elementwiseOf(node, yield* all(node.args, index));
    case 'repeat':
      return yield* at(argument(first), fixedIndex(0));
    case 'slice':
      return yield* at(argument(first), affineIndex(index, node.step, node.start));
    case 'place':
      return yield* placeAt(state, node, index);
    case 'concat':
      return yield* concatAt(state, node, index);
    case 'interleave':
      return yield* interleaveAt(state, node, index);
    case 'oneHot':
      return oneHotOf(yield* at(argument(first), fixedIndex(0)), numberOf(state, index));
    case 'components': {
      const long = argument(first);
      return yield* loop(state, node.combine, long.dim, [], (k) => at(long, k));
    }
    case 'contract': {
      const { terms, factors } = contractionOf(state, node);
      const [f, g] = node.args;
      return yield* loop(state, 'sum', terms, indexCounters(index), function* (k) {
        const [ofF, ofG] = factors(index, k);
        return mul(yield* at(argument(f), ofF), yield* at(argument(g), ofG));
      });
    }
    case 'gather':
      return load(state, node.table, index, yield* takenRow(state, node));
  }
}

/** One component of an elementwise node, from the component of each argument. */
function elementwiseOf(node: NodeOfKind<'elementwise'>, args: readonly RealExpr[]): RealExpr {
  return substitute(scalarOf(node), Object.fromEntries(args.map((arg, k) => [`x${k}`, arg])));
}

function contractionOf(state: State, node: NodeOfKind<'contract'>): ContractionIndices {
  const indices = state.contractions.get(node) ?? contractionIndices(node.contraction);
  state.contractions.set(node, indices);
  return indices;
}

/** Asks for a component of each. */
function* all(nodes: readonly VectorExpr[], index: IndexExpr): Lowering<RealExpr[]> {
  const values: RealExpr[] = [];
  for (const node of nodes) values.push(yield* at(node, index));
  return values;
}

const argument = (node: VectorExpr | undefined): VectorExpr => {
  if (node === undefined) throw new TypeError('a node has too few arguments');
  return node;
};

/** The row that a formula takes by index. */
function* takenRow(state: State, node: NodeOfKind<'gather'>): Lowering<TakenRow> {
  const { position } = node.table;
  const wanted = argument(node.args[0]);
  const index = simplify(expandFunctions(yield* at(wanted, fixedIndex(0))));
  const known = state.gathers.find((one) => one.position === position && one.index === index);
  if (known !== undefined) return known;
  const name = `${state.options.rowName}${state.gathers.length}`;
  const gather = { name, position, index, follows: followedSides(wanted) };
  state.gathers.push(gather);
  return gather;
}

function load(
  state: State,
  node: NodeOfKind<'variable'>,
  index: IndexExpr,
  row?: TakenRow,
): RealExpr {
  const text = indexText(index);
  const key = `${row?.name ?? ''}${node.position}[${text}]`;
  const known = state.loads.get(key);
  if (known !== undefined) return variable(known.name);
  const [term] = index.terms;
  const isLine = index.terms.length === 1 && term?.atom.counters[0] === term?.atom.text;
  const line =
    isLine && term !== undefined
      ? { counter: term.atom.text, step: term.factor, offset: index.constant }
      : undefined;
  const name = state.options.loadName(node, index, row?.name, state.loads.size);
  state.loads.set(key, {
    name,
    position: node.position,
    category: node.category,
    index: text,
    ...(line === undefined || row !== undefined ? {} : { line }),
    constant: isFixed(index),
    ...(row !== undefined && { row: { name: row.name, follows: row.follows } }),
  });
  return variable(name);
}

/** A component's number as a value. */
function numberOf(state: State, index: IndexExpr): RealExpr {
  if (isFixed(index)) return constant(index.constant);
  const text = indexText(index);
  const known = state.numbers.get(text) ?? {
    name: `N${state.numbers.size}`,
    index: text,
  };
  state.numbers.set(text, known);
  return variable(known.name);
}

/** A step of 0s: the component is one of the argument where its place leads back to its number. */
function* placeAt(state: State, node: NodeOfKind<'place'>, index: IndexExpr): Lowering<RealExpr> {
  const inner = argument(node.args[0]);
  const from = clampIndex(
    affineIndex(index, 1, -node.start),
    0,
    (inner.dim - 1) * node.step + node.step - 1,
  );
  const { quotient } = divideIndex(from, node.step);
  const back = affineIndex(quotient, node.step, node.start);
  if (isFixed(index) && back.constant !== index.constant) return constant(0);
  const value = yield* at(inner, quotient);
  if (indexText(back) === indexText(index)) return value;
  return select(eq(numberOf(state, back), numberOf(state, index)), value, 0);
}

function* concatAt(state: State, node: NodeOfKind<'concat'>, index: IndexExpr): Lowering<RealExpr> {
  const { low, high } = indexRange(index);
  let start = 0;
  const pieces: { readonly end: number; readonly value: RealExpr }[] = [];
  for (const arg of node.args) {
    const from = start;
    start += arg.dim;
    if (start <= low || from > high) continue;
    const inside = clampIndex(affineIndex(index, 1, -from), 0, arg.dim - 1);
    pieces.push({ end: start, value: yield* at(arg, inside) });
  }
  return pieces.reduceRight<RealExpr | undefined>(
    (rest, { end, value }) =>
      rest === undefined ? value : select(lt(numberOf(state, index), end), value, rest),
    undefined,
  )!;
}

function* interleaveAt(
  state: State,
  node: NodeOfKind<'interleave'>,
  index: IndexExpr,
): Lowering<RealExpr> {
  const { quotient, remainder } = divideIndex(index, node.args.length);
  if (isFixed(remainder)) {
    return yield* at(argument(node.args[remainder.constant]), quotient);
  }
  const which = numberOf(state, remainder);
  const values = yield* all(node.args, quotient);
  return values.reduceRight((rest, value, k) => select(eq(which, k), value, rest));
}

/** The combination of `size` values: a loop, or written out where it is short. */
function* loop(
  state: State,
  combine: Combine,
  size: number,
  outside: readonly string[],
  body: (k: IndexExpr) => Lowering<RealExpr>,
): Lowering<RealExpr> {
  if (size <= state.options.longest) {
    const values: RealExpr[] = [];
    for (let k = 0; k < size; k++) values.push(yield* body(fixedIndex(k)));
    return WRITTEN_COMBINE[combine](values);
  }
  const depthOf = (name: string): number =>
    [...state.counters.values()].find((counter) => counter.name === name)?.depth ?? 0;
  const parent = outside.reduce(
    (deepest, name) => (deepest === '' || depthOf(name) > depthOf(deepest) ? name : deepest),
    '',
  );
  const key = `${parent}/${size}`;
  const counter = state.counters.get(key) ?? {
    name: `k${state.counters.size}`,
    depth: parent === '' ? 1 : depthOf(parent) + 1,
  };
  state.counters.set(key, counter);
  const value = simplify(yield* body(counterIndex(counter.name, size)));
  const name = `A${state.loops.length}`;
  state.loops.push({ name, counter: counter.name, size, combine, parent, body: value });
  return variable(name);
}

/** The sides whose rows the value of a formula depends on. */
function followedSides(formula: VectorExpr): readonly ('i' | 'j')[] {
  const nodes = postOrderVector(formula);
  return (['i', 'j'] as const).filter((side) =>
    nodes.some(
      (node) =>
        (node.kind === 'variable' && (node.category === side || node.category === 'pair')) ||
        (node.kind === 'index' && node.axis === side),
    ),
  );
}
