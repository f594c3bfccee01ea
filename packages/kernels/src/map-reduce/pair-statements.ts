import {
  finish,
  type RealExpr,
  variablesSteps,
  type Category,
  type Steps,
} from '@mercer/formula/plan';
import { type Gather, componentName, gatherName } from './lowering/written-out.js';
import type { UnrolledPlan } from './plan-types.js';
import type { HalfDType } from './launched-plan.js';
import { ROW_NAMES } from './lowering/lower.js';
import { rowInputs } from './plan-inputs.js';

/** A component of an input that the values of a plan read. */
export interface UsedComponent {
  readonly position: number;
  readonly component: number;
  readonly storage?: HalfDType | undefined;
  /** Its place among all components of the category. */
  readonly place: number;
  readonly name: string;
}

/** What the values of a plan read. */
export interface UsedComponents {
  readonly of: (category: Category) => readonly UsedComponent[];
  readonly rowNumber: (axis: 'i' | 'j') => string | undefined;
  /** Every name. */
  readonly names: readonly string[];
}

/** In steps, which components and row numbers `values` and the numbers of gathered rows read. */
export function* usedComponents(
  { inputs }: UnrolledPlan,
  values: readonly RealExpr[],
): Steps<UsedComponents> {
  const names = new Set(yield* variablesSteps(values));
  return {
    of: (wanted) =>
      rowInputs(inputs, wanted)
        .flatMap(({ position, dim, storage }) =>
          Array.from({ length: dim }, (_, component) => ({
            position,
            component,
            storage,
          })),
        )
        .map((one, place) => ({
          ...one,
          place,
          name: componentName(wanted, one.position, one.component),
        }))
        .filter(({ name }) => names.has(name)),
    rowNumber: (axis) => (names.has(ROW_NAMES[axis]) ? ROW_NAMES[axis] : undefined),
    names: [...names],
  };
}

/** The components of gathered row number `place` that are read. */
export function gatheredComponents(
  { names }: UsedComponents,
  place: number,
): readonly { readonly name: string; readonly component: number }[] {
  const prefix = gatherName(place, 0).slice(0, -1);
  return names
    .filter((name) => name.startsWith(prefix))
    .map((name) => ({ name, component: Number(name.slice(prefix.length)) }));
}

/** Expressions in a dialect. */
export interface PairStatements<H> {
  /** Declarations of what is shared, in order. */
  readonly statements: readonly string[];
  /** The value of each expression. */
  readonly results: readonly string[];
  readonly helpers: ReadonlySet<H>;
}

/** What a plan computes for a pair of rows, as statements. */
export interface PairText<H> extends PairStatements<H> {
  readonly used: UsedComponents;
}

/** How a dialect writes expressions of variables with these names, and loads a row by index. */
export interface PairDialect<H> {
  readonly write: (exprs: readonly RealExpr[], names: readonly string[]) => PairStatements<H>;
  /** Declares components of a row of a table from the statements that compute its number. */
  readonly load: (
    gather: Gather,
    components: ReturnType<typeof gatheredComponents>,
    index: PairStatements<H>,
  ) => string;
}

/** The text of a pair; rows by index are loaded first, in order of need. */
export function pairText<H>(plan: UnrolledPlan, { write, load }: PairDialect<H>): PairText<H> {
  const { values, gathers = [] } = plan;
  const read = [...values, ...gathers.map(({ index }) => index)];
  const used = finish(usedComponents(plan, read));
  const helpers = new Set<H>();
  const written = (exprs: readonly RealExpr[]): PairStatements<H> => {
    const text = write(exprs, used.names);
    text.helpers.forEach((helper) => helpers.add(helper));
    return text;
  };
  const loads = gathers.map((gather, n) =>
    load(gather, gatheredComponents(used, n), written([gather.index])),
  );
  const { statements, results } = written(values);
  return { used, helpers, results, statements: [...loads, ...statements] };
}
