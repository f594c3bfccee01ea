import {
  select,
  simplify,
  substitute,
  variable,
  type BoolExpr,
  type RealExpr,
} from '@mercer/formula';
import type { Conversion } from './conversion-text.js';
import { elementInfo } from './element-type.js';
import { mapVariables } from './map-params.js';
import type { MapPlan } from './map-plan.js';

/** The plan's formula, simplified, in the names that the text uses; a comparison becomes 1 or 0. */
export function mapFormula(
  plan: Pick<MapPlan, 'expr' | 'inputs' | 'parameters' | 'indices'>,
): RealExpr {
  const names = mapVariables(plan);
  const given = [...plan.inputs.map(({ name }) => name), ...plan.parameters, ...plan.indices];
  const texts = [...names.inputs, ...names.parameters, ...names.indices];
  const renamed = substitute(
    plan.expr,
    Object.fromEntries(given.map((name, i) => [name, variable(texts[i] ?? name)])),
  );
  const real = renamed.type === 'bool' ? select(renamed as BoolExpr, 1, 0) : (renamed as RealExpr);
  return simplify(real);
}

/** Name of the function that reads an input's element as the computing type. */
export function loadName({ dtype }: MapPlan['inputs'][number]): string {
  return `load_${elementInfo(dtype).tag}`;
}

/** `load_<type>` for each type of input, and `store`, which makes an element of the output. */
export function mapConversions(plan: MapPlan): readonly Conversion[] {
  const loads = new Map(
    plan.inputs.map((input) => [
      loadName(input),
      { name: loadName(input), from: input.dtype, to: plan.dtype },
    ]),
  );
  return [...loads.values(), { name: 'store', from: plan.dtype, to: plan.out }];
}
