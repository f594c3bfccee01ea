import { mul, variable, variables, withArgs, type Expr, type RealExpr } from '@mercer/formula';
import type { LoweredLoop } from './lower-wide.js';
import { COLUMN, type WideLoad, type WideNumber } from './wide-formula.js';

/** The scalar variable that stands for pair value `n` in a column. */
export const pairValueName = (n: number): string => `W${String(n)}`;

/** What is computed for a column, over pair values that are computed once for a pair of rows. */
export interface PairSplit {
  readonly column: RealExpr;
  readonly loops: readonly LoweredLoop[];
  readonly pair: readonly RealExpr[];
  /** The loads, where those of a column take rows by index whose numbers are pair values. */
  readonly loads: readonly WideLoad[];
}

/**
 * Takes out of a column's value, and of the loops in it, every largest part that is the same for all
 * columns and is more than a load; of a product it takes the factors that are. The values `first` come first among the
 * pair values.
 */
export function splitPairValues(
  column: RealExpr,
  first: readonly RealExpr[],
  lowered: {
    readonly loads: readonly WideLoad[];
    readonly numbers: readonly WideNumber[];
    readonly loops: readonly LoweredLoop[];
  },
): PairSplit {
  const { loads, numbers, loops } = lowered;
  const parents = new Map(loops.map(({ counter, parent }) => [counter, parent]));
  const isCounter = (word: string): boolean => word === COLUMN || parents.has(word);
  const readsCounter = (text: string): boolean => (text.match(/\w+/g) ?? []).some(isCounter);
  const moving = new Set([
    ...[...loads, ...numbers].filter(({ index }) => readsCounter(index)).map(({ name }) => name),
    ...loops.filter(({ parent }) => parent !== '').map(({ name }) => name),
  ]);
  // leaves that are more than a load
  const computed = new Set([
    ...loops.map(({ name }) => name),
    ...loads.filter(({ row }) => row !== undefined).map(({ name }) => name),
  ]);
  const isStill = (node: Expr): boolean => !variables(node).some((name) => moving.has(name));
  const pair: RealExpr[] = [...first];
  const known = new Map<Expr, Expr>();
  const hold = (node: RealExpr): string => {
    const place = pair.indexOf(node);
    return pairValueName(place < 0 ? pair.push(node) - 1 : place);
  };
  const rebuild = (node: Expr): Expr => {
    const done = known.get(node);
    if (done !== undefined) return done;
    const made = remade(node);
    known.set(node, made);
    return made;
  };
  const remade = (node: Expr): Expr => {
    const isHeld = node.name !== undefined && computed.has(node.name) && !moving.has(node.name);
    if (node.args.length === 0 && !isHeld) return node;
    const names = variables(node);
    if (node.type === 'real' && names.length > 0 && isStill(node)) {
      return variable(hold(node as RealExpr));
    }
    const factors = node.op === 'mul' ? factorsOf(node) : [];
    const still = factors.filter(isStill);
    if (still.length > 1 && still.some((factor) => variables(factor).length > 0)) {
      const others = factors.filter((factor) => !still.includes(factor));
      const rebuilt = others.map((factor) => rebuild(factor) as RealExpr);
      return mul(productOf(rebuilt), rebuild(productOf(still)) as RealExpr);
    }
    return withArgs(node, node.args.map(rebuild));
  };
  const stands = (counter: string): boolean =>
    counter === COLUMN || (parents.has(counter) && stands(parents.get(counter) ?? ''));
  const rebuilt = rebuild(column) as RealExpr;
  const within = loops.map((loop) =>
    stands(loop.counter) ? { ...loop, body: rebuild(loop.body) as RealExpr } : loop,
  );
  const bodies = within.filter(({ counter }) => stands(counter)).map(({ body }) => body);
  const read = new Set([rebuilt, ...bodies].flatMap((expr) => variables(expr)));
  return {
    column: rebuilt,
    loops: within,
    loads: loads.map((load) =>
      load.row !== undefined && read.has(load.name)
        ? { ...load, row: { ...load.row, name: hold(variable(load.row.name)) } }
        : load,
    ),
    pair,
  };
}

const productOf = (factors: readonly RealExpr[]): RealExpr =>
  factors.reduce((product, factor) => mul(product, factor));

/** The factors of a product, of products too. */
const factorsOf = (node: Expr): RealExpr[] =>
  node.op === 'mul' ? node.args.flatMap(factorsOf) : [node as RealExpr];
