import {
  select,
  simplify,
  substitute,
  variable,
  type BoolExpr,
  type Expr,
  type RealExpr,
} from '@mercer/formula';
import type { DType } from '../dtype.js';
import type { Conversion } from './conversion-text.js';
import { elementInfo } from './element-type.js';
import { mapVariables } from './map-params.js';
import type { MapPlan } from './map-plan-types.js';

/** The formulas of a plan's results, as {@link mapFormula} gives each. */
export const mapFormulas = (plan: MapPlan): readonly RealExpr[] =>
  plan.results.map(({ expr }) => mapFormula(expr, plan));

/** A formula, simplified, in the names that the text uses; a comparison becomes 1 or 0. */
export function mapFormula(
  expr: Expr,
  plan: Pick<MapPlan, 'inputs' | 'parameters' | 'indices'>,
): RealExpr {
  const names = mapVariables(plan);
  const given = [...plan.inputs.map(({ name }) => name), ...plan.parameters, ...plan.indices];
  const texts = [...names.inputs, ...names.parameters, ...names.indices];
  const renamed = substitute(
    expr,
    Object.fromEntries(given.map((name, i) => [name, variable(texts[i] ?? name)])),
  );
  const real = renamed.type === 'bool' ? select(renamed as BoolExpr, 1, 0) : (renamed as RealExpr);
  return simplify(real);
}

/** Name of the function that reads an input's element as the computing type. */
export function loadName({ dtype }: MapPlan['inputs'][number]): string {
  return `load_${elementInfo(dtype).tag}`;
}

/** Name of the function that makes an element of a result. */
export const storeName = ({ results }: MapPlan, dtype: DType): string =>
  results.length === 1 ? 'store' : `store_${elementInfo(dtype).tag}`;

/** `load_<type>` for each type of input, and what makes elements of the results. */
export function mapConversions(plan: MapPlan): readonly Conversion[] {
  const loads = new Map(
    plan.inputs.map((input) => [
      loadName(input),
      { name: loadName(input), from: input.dtype, to: plan.dtype },
    ]),
  );
  const stores = new Map(
    plan.results.map(({ dtype: to }) => [to, { name: storeName(plan, to), from: plan.dtype, to }]),
  );
  return [...loads.values(), ...stores.values()];
}
