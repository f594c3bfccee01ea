import {
  constant,
  scalarOf,
  simplifyAllSteps,
  substitute,
  unrollSteps,
  variable,
  type Category,
  type ElementwiseNode,
  type RealExpr,
  type Steps,
  type VectorExpr,
} from '@mercer/formula';
import { expandFunctionsSteps } from '../math/expand-functions.js';
import { PlanError } from '../plan-error.js';
import type { Gathers } from './gathers.js';
import { INTERPRETER_LIMITS } from './limits.js';

/** The scalar variable that stands for a component of an input: `i0_2` is component 2 of input 0. */
export function componentName(category: Category, position: number, component: number): string {
  return `${PREFIX[category]}${position}_${component}`;
}

/** The scalar variables that stand for the row numbers. */
export const ROW_NAMES = { i: 'rowNumberI', j: 'rowNumberJ' } as const;

const PREFIX = { i: 'i', j: 'j', pair: 'm', parameter: 'p' } as const;

/**
 * In steps, every component of a formula as a scalar expression over components of inputs, row numbers, and components of
 * rows taken by index, which go to `gathers`. Throws a `PlanError` for what no kernel computes: a function beyond its
 * largest order, and without `gathers` a row taken by index.
 */
export function* lowerFormula(formula: VectorExpr, gathers?: Gathers): Steps<readonly RealExpr[]> {
  const known = new Map<VectorExpr, RealExpr>();
  const components = yield* unrollSteps(formula, INTERPRETER_LIMITS.operations);
  const lowered: RealExpr[] = [];
  for (const component of components) lowered.push(yield* lower(component, known, gathers));
  const expanded = yield* expandFunctionsSteps(lowered);
  return yield* simplifyAllSteps(expanded);
}

function* lower(
  root: VectorExpr,
  known: Map<VectorExpr, RealExpr>,
  gathers: Gathers | undefined,
): Steps<RealExpr> {
  const stack = [root];
  for (let node = stack.at(-1); node !== undefined; node = stack.at(-1)) {
    const missing = neededBy(node).filter((arg) => !known.has(arg));
    if (missing.length > 0) {
      stack.push(...missing);
      continue;
    }
    if (!known.has(node)) known.set(node, lowerNode(node, known, gathers));
    stack.pop();
    yield;
  }
  return known.get(root) ?? constant(NaN);
}

/** One component of an input counts as one thing: what is inside has more components. A row by index needs its index. */
function neededBy(node: VectorExpr): readonly VectorExpr[] {
  if (node.kind !== 'slice') return node.args;
  const [source] = node.args;
  return source?.kind === 'gather' ? source.args : [];
}

function lowerNode(
  node: VectorExpr,
  known: ReadonlyMap<VectorExpr, RealExpr>,
  gathers: Gathers | undefined,
): RealExpr {
  const gathered = (
    { table, args: [at] }: Extract<VectorExpr, { kind: 'gather' }>,
    component: number,
  ): RealExpr => {
    const index = at === undefined ? undefined : known.get(at);
    if (gathers === undefined || index === undefined) throw notYet('takes a row by index (Gather)');
    return gathers.component(table.position, index, component);
  };
  switch (node.kind) {
    case 'literal':
      return constant(node.value);
    case 'index':
      return variable(ROW_NAMES[node.axis]);
    case 'variable':
      return variable(componentName(node.category, node.position, 0));
    case 'slice': {
      const [source] = node.args;
      if (source?.kind === 'variable') {
        return variable(componentName(source.category, source.position, node.start));
      }
      if (source?.kind === 'gather') return gathered(source, node.start);
      throw notYet('is not unrolled');
    }
    case 'elementwise': {
      return lowerElementwise(
        node,
        node.args.map((arg) => known.get(arg) ?? constant(NaN)),
      );
    }
    case 'gather':
      return gathered(node, 0);
    default:
      throw notYet(`has a node of kind '${node.kind}' left after unrolling`);
  }
}

/** One component of an elementwise node, from the component of each argument. */
export function lowerElementwise(node: ElementwiseNode, args: readonly RealExpr[]): RealExpr {
  const scalar = scalarOf(node);
  return substitute(scalar, Object.fromEntries(args.map((arg, k) => [`x${k}`, arg])));
}

/** The error for what no kernel computes yet. */
function notYet(what: string): PlanError {
  return new PlanError(
    'UNSUPPORTED',
    `cannot plan a map-reduce: the formula ${what}, and there is no kernel text for that. ` +
      `Pass the rows that it takes as an input of their own.`,
  );
}
