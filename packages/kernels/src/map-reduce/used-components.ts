import { variables, type Category, type RealExpr } from '@mercer/formula';
import { componentName, ROW_NAMES } from './lower-formula.js';
import type { UnrolledPlan } from './plan.js';

/** A component of an input that the values of a plan read. */
export interface UsedComponent {
  readonly position: number;
  readonly component: number;
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

/** Which components and row numbers the values of a plan read. */
export function usedComponents(
  { inputs }: UnrolledPlan,
  values: readonly RealExpr[],
): UsedComponents {
  const names = new Set(values.flatMap((value) => variables(value)));
  return {
    of: (wanted) =>
      inputs
        .filter(({ category }) => category === wanted)
        .flatMap(({ position, dim }) =>
          Array.from({ length: dim }, (_, component) => ({ position, component })),
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
