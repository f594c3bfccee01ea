import { emitCpuStatements } from '../../../emit/cpu-expression.js';
import { cpuLiteral } from '../../../emit/literals.js';
import type { CpuHelper } from '../../../emit/cpu-math.js';
import { indent, lines, upTo } from '../../../emit/text.js';
import { pairsName } from '../../cpu/text.js';
import { loaded } from '../../half-storage.js';
import { inputName, pairStrides, sidesOf, strideName, tableRowsName } from '../../params.js';
import { rowInputs } from '../../plan-inputs.js';
import type { TileDialect } from '../tile-dialect.js';
import type { ComponentLoad } from '../loop-formula.js';
import type { CpuPairTilePlan } from '../plan-types.js';

/** Where the copied components of the kept rows begin, by input, and their number. */
export function packedInputs(plan: CpuPairTilePlan): {
  readonly offsets: ReadonlyMap<number, number>;
  readonly count: number;
} {
  const offsets = new Map<number, number>();
  let count = 0;
  for (const { position, dim } of plan.packed ? rowInputs(plan.inputs, sidesOf(plan).kept) : []) {
    offsets.set(position, count);
    count += dim;
  }
  return { offsets, count };
}

/** Functions that read rows of a table: one for every lane, and one for all of them. */
export const takenName = (position: number): string => `taken_${inputName(position)}`;
export const takenOnceName = (position: number): string => `taken_once_${inputName(position)}`;

/**
 * How a tile of `rows` reduced rows is written: every accumulator is a variable of its own, because compilers
 * keep arrays of vectors in memory. `rowAt(r)` is the number of a reduced row.
 */
export function cpuTileDialect(
  plan: CpuPairTilePlan,
  rows: number,
  rowAt: (r: string) => string,
  helpers: Set<CpuHelper>,
): TileDialect {
  const { dtype, keptVectors } = plan;
  const kept = sidesOf(plan).kept;
  const { offsets } = packedInputs(plan);
  const pairs = upTo(rows).flatMap((r) =>
    upTo(keptVectors).map((g) => [String(r), String(g)] as const),
  );
  const lit = (value: number): string => `splat(${cpuLiteral(value, dtype)})`;
  const storage = new Map(plan.inputs.map((input) => [input.position, input]));
  const load = ({ position, category, index }: ComponentLoad, r: string, g: string): string => {
    const x = inputName(position);
    const stride = `g.${strideName(position)}`;
    const read = (element: string): string =>
      `splat(${loaded(storage.get(position) ?? {}, element)})`;
    if (category === 'parameter') return read(`${x}[${index}]`);
    if (category === 'pair') {
      const along = pairStrides(plan, position);
      const from = `${x} + ${rowAt(r)} * g.${along.reduced} + ${index}`;
      return `${pairsName(position)}(${from}, g.${along.kept}, places + ${g} * LANES)`;
    }
    if (category !== kept) return read(`${x}[${rowAt(r)} * ${stride} + ${index}]`);
    const offset = offsets.get(position);
    return offset === undefined
      ? `gathered${x}(${x} + ${index}, ${stride}, places, ${g})`
      : `own[(${offset} + ${index}) * VECTORS + ${g}]`;
  };
  return {
    each: (body) => pairs.map(([r, g]) => lines('{', indent(body(r, g)), '}')).join('\n'),
    declare: (name, start) =>
      `V ${pairs.map(([r, g]) => `${name}_${r}_${g} = ${start}`).join(', ')};`,
    valueAt: (name, r, g) =>
      /^\d+$/.test(r + g) ? `${name}_${r}_${g}` : `${name}_all[${r} * VECTORS + ${g}]`,
    load,
    taken: ({ position, index, row: of }, row) => {
      const name = of?.follows.includes(kept) ? takenName(position) : takenOnceName(position);
      return `${name}(${inputName(position)} + ${index}, g.${strideName(position)}, ${row})`;
    },
    rowOfTable: (position, index) => `row_of_table(${index}, g.${tableRowsName(position)})`,
    rowNumber: (axis, r, g) =>
      axis === kept ? `rowNumbers(places, ${g})` : `splat((T)${rowAt(r)})`,
    number: (text) => `splat((T)${text})`,
    lit,
    statements: (exprs, names) => {
      const { helpers: used, ...rest } = emitCpuStatements(exprs, {
        dtype,
        name: 'formula',
        parameters: names,
      });
      for (const helper of used) helpers.add(helper);
      return rest;
    },
    loopPragma: '',
  };
}
