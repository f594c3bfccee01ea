import { emitCudaExpressions } from '../../../emit/cuda-expression.js';
import { cudaLiteral } from '../../../emit/literals.js';
import type { CudaHelper } from '../../../emit/cuda-math.js';
import { lines, unrolled } from '../../../emit/text.js';
import { pairOptions } from '../../cuda/pair-text.js';
import { loaded } from '../../half-storage.js';
import { inputName, pairStrides, sidesOf, strideName, tableRowsName } from '../../params.js';
import type { TileDialect } from '../tile-dialect.js';
import type { CudaPairTilePlan } from '../plan-types.js';

/** What the text of tiles calls and reads that stands in front of it. */
export interface TileNeeds {
  readonly helpers: Set<CudaHelper>;
  /** The numbers of a thread's kept rows, and the smaller of two steps. */
  readonly others: Set<'place' | 'least_step'>;
}

/** Instructions that a loop is written out to, at most: more are slow to compile and do not fit the instruction cache. */
const MOST_UNROLLED = 2048;

/** The pragma of a loop of `steps` steps, each of so many instructions: written out `wanted` times, or fewer where that is too long. */
export function unrollPragma(wanted: number | 'all', steps: number, instructions: number): string {
  const most = 2 ** Math.max(0, Math.floor(Math.log2(MOST_UNROLLED / Math.max(1, instructions))));
  if ((wanted === 'all' ? steps : wanted) > most) return `#pragma unroll ${most}`;
  return wanted === 'all' ? '#pragma unroll' : `#pragma unroll ${wanted}`;
}

/** `body` for r below `rows` and g below `keptPerThread`, as loops that the compiler writes out. */
export const unrolledPairs = (rows: number, keptPerThread: number, body: string): string =>
  unrolled('r', rows, unrolled('g', keptPerThread, body));

/**
 * How a thread's tile of `rows` by `keptPerThread` pairs is written: arrays that stay in registers. `place[g]` is the
 * number of a kept row, and `rowAt(r)` that of a reduced row.
 */
export function cudaTileDialect(
  plan: CudaPairTilePlan,
  rows: number,
  rowAt: (r: string) => string,
  { helpers, others }: TileNeeds,
): TileDialect {
  const { dtype, keptPerThread } = plan;
  const kept = sidesOf(plan).kept;
  const placeAt = (g: string): string => {
    others.add('place');
    return `place[${g}]`;
  };
  const stored = new Map(plan.inputs.map((input) => [input.position, input]));
  return {
    each: (body) => unrolledPairs(rows, keptPerThread, body('r', 'g')),
    declare: (name, start) =>
      lines(
        `V ${name}_all[${rows}][${keptPerThread}];`,
        unrolledPairs(rows, keptPerThread, `${name}_all[r][g] = ${start};`),
      ),
    valueAt: (name, r, g) => `${name}_all[${r}][${g}]`,
    load: ({ position, category, index }, r, g) => {
      const row = (): string => (category === kept ? placeAt(g) : rowAt(r));
      const along = pairStrides(plan, position);
      const start =
        category === 'parameter'
          ? ''
          : category === 'pair'
            ? `${placeAt(g)} * ${along.kept} + ${rowAt(r)} * ${along.reduced} + `
            : `${row()} * ${strideName(position)} + `;
      return loaded(stored.get(position) ?? {}, `in${inputName(position)}[${start}${index}]`);
    },
    taken: ({ position, index }, row) => {
      const from = `in${inputName(position)}[(long long)${row} * ${strideName(position)} + ${index}]`;
      return `(${row} < 0 ? ${cudaLiteral(NaN, dtype)} : ${loaded(stored.get(position) ?? {}, from)})`;
    },
    rowOfTable: (position, index) => `row_of_table(${index}, ${tableRowsName(position)})`,
    rowNumber: (axis, r, g) => `(V)${axis === kept ? placeAt(g) : rowAt(r)}`,
    number: (text) => `(V)${text}`,
    lit: (value) => cudaLiteral(value, dtype),
    statements: (exprs, names) => {
      const { helpers: used, ...rest } = emitCudaExpressions(exprs, pairOptions(plan, names));
      for (const helper of used) helpers.add(helper);
      return rest;
    },
    loopPragma: '#pragma unroll 1',
  };
}
