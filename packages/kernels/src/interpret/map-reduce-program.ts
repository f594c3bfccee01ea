import {
  finish,
  type Category,
  type RealExpr,
  type ReductionKind,
  type Steps,
  orderSteps,
  visitSteps,
  type Expr,
} from '@mercer/formula/plan';
import { sidesOf } from '../map-reduce/params.js';
import type { PlannedReduction } from '../map-reduce/launched-plan.js';
import { rowInputs } from '../map-reduce/plan-inputs.js';
import type { CpuMapReducePlan } from '../map-reduce/plan-types.js';
import { reducersOf } from '../map-reduce/reducers/reducers-of.js';
import { addsNothing } from '../map-reduce/plan-sums.js';
import { PLAIN_SUMS, type SumOptions } from '../map-reduce/reducers/reducer.js';
import {
  gatheredComponents,
  usedComponents,
  type UsedComponents,
} from '../map-reduce/pair-statements.js';
import { blockedSums } from './blocked-sums.js';
import { elementNumber } from '../elementwise/element-type.js';
import { unlessNoInstruction } from './lower-tile-code.js';
import { ProgramBuilder } from './program-builder.js';
import { writeTileProgram, type TileProgram } from './tile-program.js';

/** Reductions in the order of their numbers in native/interpreter/program.h of cpu-runtime. */
const REDUCTIONS: readonly ReductionKind[] = [
  ...(['Sum', 'Prod', 'Mean', 'Any', 'All', 'Count'] as const),
  ...(['LogSumExp', 'SumSoftMaxWeight', 'MaxSumShiftExp', 'Var'] as const),
  ...(['Min', 'Max', 'ArgMin', 'ArgMax', 'MinArgMin', 'MaxArgMax'] as const),
  ...(['KMin', 'ArgKMin', 'KMinArgKMin', 'KMax', 'ArgKMax', 'KMaxArgKMax'] as const),
];

const NO_SELECTION = 0;
/** In place of a selection: a pair has a place and what is added there, and the reduction has a component for every place. */
const IN_PLACES = -1;
/** In place of a table's number: an input with values of pairs. */
const OF_PAIRS = -2;

/** The program of a map-reduce plan; none for a formula beyond the interpreter. `rounded`: no product is fused with a sum. */
export function mapReduceProgram(plan: CpuMapReducePlan, rounded = false): TileProgram | undefined {
  return finish(mapReduceProgramSteps(plan, rounded));
}

/** {@link mapReduceProgram} in steps. */
export function* mapReduceProgramSteps(
  plan: CpuMapReducePlan,
  rounded = false,
): Steps<TileProgram | undefined> {
  if (plan.splits > 1) return undefined;
  const values = yield* blockedSums(plan.values);
  const { reduction, dim, weightDim, k, further = [], sums, bins } = plan;
  const parts = { pair: values, chosen: [], rounded };
  if (bins !== undefined) {
    const row = reductionRow({ reduction, dim, weightDim, k }, dim, sums);
    return yield* pairProgram(plan, { ...parts, selection: IN_PLACES, reductions: row });
  }
  const reducers = reducersOf(plan);
  const rows = [{ reduction, dim, weightDim, k }, ...further].flatMap((one, n) =>
    reductionRow(one, reducers[n]?.arity ?? one.dim, sums),
  );
  return yield* pairProgram(plan, { ...parts, selection: NO_SELECTION, reductions: rows });
}

/**
 * The program of a selection, whose pass has the mask and the values in one list. Its mask is computed by the very code of
 * the counts, a map-reduce of the mask alone, so that both find the same pairs.
 */
export function selectionProgram(
  pass: CpuMapReducePlan,
  valueDim: number,
): TileProgram | undefined {
  const [mask, ...values] = finish(blockedSums(pass.values));
  if (mask === undefined) return undefined;
  const { reduction, dim, weightDim, k } = pass;
  const parts = {
    pair: [mask],
    chosen: values.slice(0, valueDim),
    selection: 1 + valueDim,
    reductions: reductionRow({ reduction, dim, weightDim, k }, 1, undefined),
    rounded: true,
  };
  return finish(pairProgram(pass, parts));
}

/** What is computed for pairs of rows. */
interface PairParts {
  readonly pair: readonly RealExpr[];
  /** What is computed where a pair was selected. */
  readonly chosen: readonly RealExpr[];
  readonly selection: number;
  readonly reductions: readonly number[];
  readonly rounded: boolean;
}

function* pairProgram(plan: CpuMapReducePlan, parts: PairParts): Steps<TileProgram | undefined> {
  if (plan.splits > 1) return undefined;
  const { pair, chosen, selection, reductions, rounded } = parts;
  const { gathers = [] } = plan;
  const used = yield* usedComponents(plan, [
    ...pair,
    ...chosen,
    ...gathers.map(({ index }) => index),
  ]);
  const { kept, reduced } = sidesOf(plan);
  const own = componentsOfRows(plan, used, kept);
  const other = componentsOfRows(plan, used, reduced);
  const parameters = componentsOfInputs(plan, used, 'parameter');
  const ofPairs = componentsOfInputs(plan, used, 'pair');
  const gathered = gathers.map(({ table }, n) => ({
    table: inputPlace(plan, table),
    components: gatheredComponents(used, n),
  }));
  const sides = new Map<string, RowSide>([
    ...own.map(({ name }) => [name, 'own'] as const),
    ...other.map(({ name }) => [name, 'other'] as const),
    ...gathered.flatMap(({ components }) => components.map(({ name }) => [name, 'both'] as const)),
    ...ofPairs.map(({ name }) => [name, 'both'] as const),
  ]);
  const stages = yield* mapReduceStages(pair, (name) => sides.get(name));
  const make = function* (): Steps<TileProgram> {
    const builder = new ProgramBuilder(plan.dtype, [], rounded);
    const inputs = [
      ...[...names(own), ...stages.own, ...names(other), ...stages.other, ...names(parameters)],
      ...gathered.flatMap(({ components }) => names(components)),
      ...names(ofPairs),
    ];
    const codes = [
      yield* builder.code(stages.own, [...names(own), ...names(parameters)]),
      yield* builder.code(stages.other, [...names(other), ...names(parameters)]),
      yield* builder.code(pair, inputs),
      ...(chosen.length > 0 ? [yield* builder.code(chosen, inputs)] : []),
    ];
    for (const { index } of gathers) codes.push(yield* builder.code([index], inputs));
    const components = [...own, ...other, ...parameters];
    const hasPairs = rowInputs(plan.inputs, 'pair').length > 0;
    let tables = 0;
    return yield* writeTileProgram({
      family: 'map-reduce',
      dtype: plan.dtype,
      codes,
      constants: builder.constants,
      settings: [
        ...[plan.axis, plan.ranges === true ? 1 : 0, selection, reductions.length / 5],
        ...[plan.inputs.length, own.length, other.length, parameters.length, gathers.length],
        ...reductions,
        ...plan.inputs.flatMap(({ storage = plan.dtype, table, category }) => [
          elementNumber(storage),
          category === 'pair' ? OF_PAIRS : table === undefined ? -1 : tables++,
        ]),
        ...components.flatMap(({ input, component }) => [input, component]),
        ...gathered.flatMap((one) => [
          ...[one.table, one.components.length],
          ...one.components.map(({ component }) => component),
        ]),
        ...(hasPairs ? [ofPairs.length] : []),
        ...ofPairs.flatMap(({ input, component }) => [input, component]),
      ],
    });
  };
  return yield* unlessNoInstruction(make());
}

/** A component that a code reads: of an input by its place, or of none the row's own number. */
interface CodeInput {
  readonly name: string;
  readonly input: number;
  readonly component: number;
}

const names = (list: readonly { readonly name: string }[]): string[] =>
  list.map(({ name }) => name);

const inputPlace = ({ inputs }: CpuMapReducePlan, wanted: number): number =>
  inputs.findIndex(({ position }) => position === wanted);

const componentsOfInputs = (
  plan: CpuMapReducePlan,
  used: UsedComponents,
  category: Category,
): CodeInput[] =>
  used.of(category).map(({ name, position, component }) => ({
    name,
    component,
    input: inputPlace(plan, position),
  }));

function componentsOfRows(
  plan: CpuMapReducePlan,
  used: UsedComponents,
  side: 'i' | 'j',
): CodeInput[] {
  const name = used.rowNumber(side);
  return [
    ...componentsOfInputs(plan, used, side),
    ...(name === undefined ? [] : [{ name, input: -1, component: 0 }]),
  ];
}

const SCHEMES = { block: 0, direct: 1, kahan: 2 } as const;

function reductionRow(
  { reduction, dim, k }: PlannedReduction,
  arity: number,
  sums: SumOptions | undefined,
): number[] {
  const { scheme, inFloat64 } = addsNothing(reduction) ? PLAIN_SUMS : (sums ?? PLAIN_SUMS);
  const adding = inFloat64 ? (scheme === 'block' ? 3 : 4) : SCHEMES[scheme];
  // 'arity' of an exponential is one exponent and its weights
  return [REDUCTIONS.indexOf(reduction), dim, arity - dim, k, adding];
}

/** Parts of the values of a pair that depend on one of its rows alone, and are computed once for that row. */
interface MapReduceStages {
  readonly own: readonly Expr[];
  readonly other: readonly Expr[];
}

/** What a variable depends on: a kept row, a reduced row, or both; nothing for a parameter. */
export type RowSide = 'own' | 'other' | 'both' | undefined;

/** Finds in steps the largest such parts; what depends on parameters alone counts to the other rows. */
export function* mapReduceStages(
  values: readonly Expr[],
  sideOf: (name: string) => RowSide,
): Steps<MapReduceStages> {
  const order = yield* orderSteps<Expr>(values);
  const sides = new Map<Expr, RowSide>();
  yield* visitSteps(order, (node) => {
    const below = node.args.map((arg) => sides.get(arg));
    sides.set(node, node.name === undefined ? joined(below) : sideOf(node.name));
  });
  const found = { own: new Set<Expr>(), other: new Set<Expr>() };
  const mixed = new Set<Expr>();
  const visit = (node: Expr): void => {
    // comparisons are no numbers, so they stay where they are read
    if (node.args.length === 0) return;
    const side = sides.get(node);
    if (node.type === 'bool' || side === 'both') mixed.add(node);
    else found[side ?? 'other'].add(node);
  };
  values.forEach(visit);
  yield* visitSteps(order.toReversed(), (node) => {
    if (mixed.has(node)) node.args.forEach(visit);
  });
  return { own: [...found.own], other: [...found.other] };
}

function joined(sides: readonly RowSide[]): RowSide {
  const [first, ...others] = sides.filter((side) => side !== undefined);
  return others.some((other) => other !== first) ? 'both' : first;
}
