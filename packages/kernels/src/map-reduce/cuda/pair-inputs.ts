import { cpp, lines } from '../../emit/text.js';
import { blockRows, laneOfThread, lanesOf, rowOfThread } from './block.js';
import { loaded } from '../half-storage.js';
import type { MapReduceInput } from '../launched-plan.js';
import { batchStrideName, inputName, pairStrides } from '../params.js';
import { rowInputs } from '../plan-inputs.js';
import type { CudaMapReducePlan } from '../plan-types.js';
import type { UsedComponent } from '../pair-statements.js';

/** How values of pairs are read; nothing where no input has any. */
export interface CudaPairInputs {
  /** Shared memory. */
  readonly declare: string;
  /** Copies those of the block's kept rows with `count` reduced rows from `start` on. */
  readonly stage: string;
  /** What a thread knows of its kept row `r`. */
  readonly own: string;
  /** Declares components for the reduced row `start + q`. */
  readonly names: (components: readonly UsedComponent[], q: string) => string;
}

/**
 * Values of pairs go through shared memory, a tile of kept rows by reduced rows at a time, where a pair has few of them: a thread
 * has one kept row, and its neighbours' values may lie a whole row of the matrix apart. `limit` ends the kept rows.
 */
export function cudaPairInputs(plan: CudaMapReducePlan, limit: string): CudaPairInputs {
  const inputs = rowInputs(plan.inputs, 'pair');
  if (inputs.length === 0) return { declare: '', stage: '', own: '', names: () => '' };
  if (plan.pairs === 'direct') return direct(plan, limit);
  const dims = new Map(inputs.map(({ position, dim }) => [position, dim]));
  const room = (position: number): number => stagedRoom(plan, dims.get(position) ?? 1);
  return {
    declare: lines(
      ...inputs.map(
        ({ position }) =>
          `__shared__ V ${pairsName(position)}[${blockRows(plan) * room(position)}];`,
      ),
    ),
    stage: lines(...inputs.map((input) => stageText(plan, limit, input))),
    own: '',
    names: (components, q) =>
      lines(
        ...components.map(({ name, position: p, component }) => {
          const row = `(${laneOfThread(plan)} + r * ${lanesOf(plan)})`;
          const place = `${row} * ${room(p)} + (${q}) * ${dims.get(p) ?? 1} + ${component}`;
          return `const V ${name} = ${pairsName(p)}[${place}];`;
        }),
      ),
  };
}

const pairsName = (position: number): string => `pairs${position}`;

/** Numbers from the values of one kept row to those of the next: odd, so that threads meet in no bank. */
const stagedRoom = ({ tile }: CudaMapReducePlan, dim: number): number => tile * dim + 1;

/** Neighbouring threads copy numbers that lie side by side, along the reduced rows or along the kept ones. */
function stageText(
  plan: CudaMapReducePlan,
  limit: string,
  { position: p, dim, storage }: MapReduceInput,
): string {
  const along = pairStrides(plan, p);
  const rows = blockRows(plan);
  const width = plan.tile * dim;
  const from = `matrix[row * ${along.kept} + (start + c / ${dim}) * ${along.reduced} + c % ${dim}]`;
  const copy = (row: string, column: string): string => cpp`
    #pragma unroll 4
    for (int e = threadIdx.x; e < ${rows * width}; e += ${plan.threads}) {
      const int r = ${row}, c = ${column};
      const long long row = first + r < ${limit} ? first + r : ${limit} - 1;
      if (c < count * ${dim})
        ${pairsName(p)}[r * ${width + 1} + c] = ${loaded({ storage }, from)};
    }
  `;
  return cpp`
    {
      const auto* const matrix = ${inputName(p)} + layer * ${batchStrideName(p)};
      if (${along.reduced} <= ${along.kept}) {
        ${copy(`e / ${width}`, `e % ${width}`)}
      } else {
        ${copy(`e / ${dim} % ${rows}`, `e / ${rows * dim} * ${dim} + e % ${dim}`)}
      }
    }
  `;
}

/** Many values of a pair are read where they lie. */
function direct(plan: CudaMapReducePlan, limit: string): CudaPairInputs {
  const stored = new Map(plan.inputs.map((input) => [input.position, input]));
  return {
    declare: '',
    stage: '',
    own: `const long long pairRow = ${rowOfThread(plan)} < ${limit} ? ${rowOfThread(plan)} : ${limit} - 1;`,
    names: (components, q) =>
      lines(
        ...components.map(({ name, position: p, component }) => {
          const along = pairStrides(plan, p);
          const place = `layer * ${batchStrideName(p)} + pairRow * ${along.kept} + (start + ${q}) * ${along.reduced} + ${component}`;
          return `const V ${name} = ${loaded(stored.get(p) ?? {}, `${inputName(p)}[${place}]`)};`;
        }),
      ),
  };
}
