import type { ReductionKind } from '@mercer/formula';
import { fromList } from '../map-reduce/expression-list.js';
import type { CpuMapReducePlan } from '../map-reduce/plan.js';
import { usedComponents } from '../map-reduce/used-components.js';
import { mapReduceStages } from './map-reduce-stages.js';
import { NoInstruction, unlessNoInstruction } from './no-instruction.js';
import { ProgramBuilder } from './program-builder.js';
import { writeTileProgram, type TileProgram } from './tile-program.js';

/** Reductions in the order of their numbers in native/interpreter/program.h of cpu-runtime. */
const REDUCTIONS: readonly ReductionKind[] = [
  ...(['Sum', 'Prod', 'Mean', 'Any', 'All', 'Count'] as const),
  ...(['LogSumExp', 'SumSoftMaxWeight', 'MaxSumShiftExp', 'Var'] as const),
  ...(['Min', 'Max', 'ArgMin', 'ArgMax', 'MinArgMin', 'MaxArgMax'] as const),
  ...(['KMin', 'ArgKMin', 'KMinArgKMin', 'KMax', 'ArgKMax', 'KMaxArgKMax'] as const),
];

/** The program of a map-reduce plan; none for formulas and reductions beyond the interpreter. */
export function mapReduceProgram(plan: CpuMapReducePlan): TileProgram | undefined {
  const { further, ranges, gathers, sums } = plan;
  const halves = plan.inputs.some(({ storage }) => storage !== undefined);
  const plain = [further, ranges, gathers, sums].every((one) => one === undefined) && !halves;
  if (!plain || plan.splits > 1) return undefined;
  const { dtype, axis, dim, k } = plan;
  const values = fromList(plan.values);
  const used = usedComponents(plan, values);
  const [kept, reduced] = axis === 1 ? (['i', 'j'] as const) : (['j', 'i'] as const);
  const place = (wanted: number): number =>
    plan.inputs.findIndex(({ position }) => position === wanted);
  const rowsOf = (side: 'i' | 'j') => [
    ...used.of(side).map(({ name, position, component }) => ({
      ...{ name, input: place(position), component },
    })),
    ...[used.rowNumber(side)].flatMap((name) =>
      name === undefined ? [] : [{ name, input: -1, component: 0 }],
    ),
  ];
  const own = rowsOf(kept);
  const other = rowsOf(reduced);
  const parameters = used.of('parameter').map(({ name, position, component }) => ({
    ...{ name, input: place(position), component },
  }));
  const names = (list: readonly { readonly name: string }[]): string[] =>
    list.map(({ name }) => name);
  const [ownNames, otherNames] = [names(own), names(other)];
  const stages = mapReduceStages(
    values,
    (name) => ownNames.includes(name),
    (name) => otherNames.includes(name),
  );
  const kind = REDUCTIONS.indexOf(plan.reduction);
  return unlessNoInstruction(() => {
    if (kind < 0) throw new NoInstruction(`the interpreter has no reduction ${plan.reduction}`);
    const builder = new ProgramBuilder(dtype);
    const codes = [
      builder.code(stages.own, [...ownNames, ...names(parameters)]),
      builder.code(stages.other, [...otherNames, ...names(parameters)]),
      builder.code(values, [
        ...[...ownNames, ...stages.own, ...otherNames, ...stages.other],
        ...names(parameters),
      ]),
    ];
    const list = [...own, ...other, ...parameters].flatMap(({ input, component }) => [
      input,
      component,
    ]);
    return writeTileProgram({
      ...{ family: 'map-reduce', dtype, codes, constants: builder.constants },
      settings: [
        ...[axis, kind, dim, values.length - dim, k],
        ...[plan.inputs.length, own.length, other.length, parameters.length, ...list],
      ],
    });
  });
}
