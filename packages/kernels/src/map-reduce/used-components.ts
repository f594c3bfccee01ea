import { variablesSteps, type Category, type RealExpr, type Steps } from '@mercer/formula';
import type { HalfDType } from './half-dtype.js';
import { ROW_NAMES } from './lowering/lower.js';
import { componentName, gatherName } from './lowering/written-out.js';
import { rowInputs } from './plan-inputs.js';
import type { UnrolledPlan } from './plan-types.js';

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
