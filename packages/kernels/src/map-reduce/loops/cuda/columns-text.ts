import type { Steps } from '@mercer/formula/plan';
import { cpp, indent, lines, unrolled, upTo } from '../../../emit/text.js';
import { stateWords, type CudaRunningResult } from '../../cuda/text.js';
import { rowNames } from '../../params.js';
import type { Reducer } from '../../reducers/reducer.js';
import type { RunningOutput, RunningResult } from '../../reducers/running-result.js';
import { resultPlace, resultWidth, type ColumnBlock } from '../column-blocks.js';
import { cudaTileDialect, unrolledPairs, unrollPragma, type TileNeeds } from './dialect.js';
import {
  columnOfThread,
  columnThreads,
  hasFirstColumn,
  threadsOf,
  columnsOfThread,
} from './column-threads.js';
import { cudaSpans } from './spans-text.js';
import { cudaStaging } from './staging.js';
import type { TileDialect } from '../tile-dialect.js';
import { tileText } from '../tile-text.js';
import { BLOCK_ROWS, CUDA_SIDE, type CudaPairTilePlan } from '../plan-types.js';
import type { CudaKernel } from '../../../emitted-kernel.js';
import { MERGE_PLACE, mergeFrame } from '../../cuda/merge-kernel.js';

/**
 * A batch entry of a result of many columns: the values of a tile of pairs go into shared memory, and every
 * thread then adds them, row after row, to a block of columns.
 */
export function* cudaColumnsText(
  plan: CudaPairTilePlan,
  reducers: readonly Reducer[],
  running: RunningResult,
  needs: TileNeeds,
): Steps<string> {
  const { formula, keptPerThread, tile, splits } = plan;
  const { block } = running;
  const { pair } = formula;
  const begun = block && `s[g] = ${block.empty('total[g]')};`;
  const mergeRuns = begun && unrolled('g', keptPerThread, lines('merge(total[g], s[g]);', begun));
  yield;
  const pairs = pair > 0 && pairText(plan, needs);
  yield;
  const columns = columnsText(plan, running, needs);
  const mergeLong = cpp`
    fresh += count;
    if (fresh >= ${BLOCK_ROWS}) {
      fresh = 0;
      ${mergeRuns}
    }
  `;
  const tiles = cpp`
    #pragma unroll 1
    for (long long start = spanFrom; start < spanEnd; start += ${tile}) {
      const int count = spanEnd - start < ${tile} ? (int)(spanEnd - start) : ${tile};
      ${pairs !== false && ['__syncthreads();', pairs, '__syncthreads();']}
      ${unrollPragma(rowsAtOnce(plan, reducers), Infinity, columns.instructions)}
      for (int q = 0; q < count; ++q) {
        ${columns.text}
      }
      ${mergeRuns && mergeLong}
    }
  `;
  return cpp`
    ${pair > 0 && `__shared__ __align__(16) V staged[${pair}][${tile}][${CUDA_SIDE * keptPerThread}];`}
    State total[${keptPerThread}];
    ${block && [`${block.type} s[${keptPerThread}];`, 'int fresh = 0;']}
    ${unrolled('g', keptPerThread, lines('total[g] = empty();', begun))}
    ${cudaSpans(plan, tile, tiles)}
    ${mergeRuns}
    #pragma unroll
    for (int g = 0; g < ${keptPerThread}; ++g) {
      const long long row = blockFirst + ty * ${keptPerThread} + g;
      if (row < limit) {
        ${splits > 1 ? keepText(plan, running) : storeColumns(plan, running, 'total[g]')}
      }
    }
  `;
}

/** Reduced rows whose columns are read together: where results are plain, and more where pairs have values in shared memory. */
function rowsAtOnce({ columns, formula }: CudaPairTilePlan, reducers: readonly Reducer[]): number {
  const isPlain = columns.every(({ block }, n) => (reducers[n]?.accumulators.length ?? 0) <= block);
  if (!isPlain) return 1;
  return formula.pair > 0 ? 8 : 4;
}

/**
 * Value `n` of the pair of row `q` of the tile and kept row `g` of a thread. The kept rows are swizzled, a thread further for each
 * `reducedPerThread` rows: the threads of a warp, which write different rows, then have different banks of shared memory.
 */
const staged = (
  { keptPerThread, reducedPerThread }: CudaPairTilePlan,
  n: number,
  q: string,
  g: string,
): string =>
  `staged[${n}][${q}][(ty + ${q} / ${reducedPerThread}) % ${CUDA_SIDE} * ${keptPerThread} + ${g}]`;

/** Puts the state of a thread of columns into the workspace, as that of a row of its own. */
function keepText(plan: CudaPairTilePlan, running: RunningResult): string {
  const threads = columnThreads(plan);
  return cpp`
    const long long states = kept * ${threads}, state = row * ${threads} + columnThread;
    {
      const long long kept = states, row = state;
      ${stateWords(plan, running).store('total[g]')}
    }
  `;
}

/** Computes the pair values of a tile. */
function pairText(plan: CudaPairTilePlan, needs: TileNeeds): string {
  const { formula, keptPerThread, reducedPerThread: rows, tile } = plan;
  const clamped = (row: string): string => `(${row} < spanEnd ? ${row} : spanEnd - 1)`;
  const rowOf = (thread: string, r: string): string =>
    clamped(`(start + ${thread} * ${rows} + ${r})`);
  const stage = cudaStaging(plan, rows, rowOf, needs);
  const read = new Set<'row'>();
  const rowAt = (r: string): string => {
    read.add('row');
    return `row[${r}]`;
  };
  const text = tileText(formula, {
    ...cudaTileDialect(plan, rows, rowAt, needs),
    stepsPragma: ({ isWhole, steps, issueSlots }) =>
      unrollPragma(isWhole ? 'all' : 4, steps, issueSlots * rows * keptPerThread),
    ...(stage === undefined ? {} : { stage }),
  });
  const roots = text.roots.slice(0, formula.pair);
  const values = text.values(roots, 'r', 'g');
  const store = values.results.map(
    (result, n) => `${staged(plan, n, 'place_q', 'g')} = ${result};`,
  );
  const loops = text.loops('', roots);
  const isPartial = tile < CUDA_SIDE * rows;
  const rowNumbers = cpp`
    long long row[${rows}];
    #pragma unroll
    for (int r = 0; r < ${rows}; ++r) row[r] = ${clamped(`start + tx * ${rows} + r`)};
  `;
  const one = cpp`
    const int place_q = tx * ${rows} + r;
    ${values.text}
    ${isPartial && `if (place_q < ${tile}) {`}
      ${isPartial && store}
    ${isPartial ? '}' : store}
  `;
  return lines(read.has('row') && rowNumbers, loops, unrolledPairs(rows, keptPerThread, one));
}

/**
 * Adds reduced row `start + q` to the running results of a thread's columns of every reduction; `instructions` is how many that
 * takes, about.
 */
function columnsText(plan: CudaPairTilePlan, running: RunningResult, needs: TileNeeds): ColumnText {
  const { addTo } = running;
  const parts = plan.columns.map((one, n) =>
    columnText(plan, one, needs, (args) =>
      addTo === undefined
        ? running.add('total[g]', 's[g]', args)
        : addTo(n, 'total[g]', 's[g]', args),
    ),
  );
  const most = columnThreads(plan);
  const scoped = plan.columns.map((one, n) => {
    const own = threadsOf(one);
    const text = parts[n]?.text ?? '';
    if (addTo === undefined) return text;
    return lines(own === most ? '{' : `if (columnThread < ${own}) {`, indent(text), '}');
  });
  return {
    text: lines(...scoped),
    instructions: parts.reduce((sum, { instructions }) => sum + instructions, 0),
  };
}

interface ColumnText {
  readonly text: string;
  readonly instructions: number;
}

function columnText(
  plan: CudaPairTilePlan,
  one: ColumnBlock,
  needs: TileNeeds,
  add: (args: readonly string[]) => string,
): ColumnText {
  const { formula, keptPerThread } = plan;
  const { before, column: root, after, columns, counter, block } = one;
  const plain = cudaTileDialect(plan, 1, () => '(start + q)', needs);
  const dialect: TileDialect = {
    ...plain,
    valueAt: (name, r, g) =>
      name.startsWith('W')
        ? staged(plan, Number(name.slice(1)), 'q', g)
        : plain.valueAt(name, r === 'r' ? 'r' : '0', g),
  };
  const tile = tileText(formula, dialect);
  const column = tile.roots.slice(root, root + 1);
  const rest = after.flatMap((n) => tile.roots.slice(n, n + 1));
  const { text, results, issueSlots } = tile.values(column, '0', 'g');
  const loops = tile.loops(counter, column);
  const restValues = tile.values(rest, '0', 'g');
  const args = [
    ...before.map((n) => staged(plan, n, 'q', 'g')),
    ...upTo(block).map((b) => `f[${b}][g]`),
    ...restValues.results,
    '(I)(start + q)',
  ];
  const counterText = cpp`
    const int wanted = ${columnOfThread(one, 'b')};
    const Step ${counter} = wanted < ${columns - 1} ? wanted : ${columns - 1};
  `;
  const added = cpp`
    V f[${block}][${keptPerThread}];
    ${loops === '' ? '#pragma unroll' : '#pragma unroll 1'}
    for (int b = 0; b < ${block}; ++b) {
      ${columns > 1 && counterText}
      ${loops}
      ${unrolled('g', keptPerThread, lines(text, `f[b][g] = ${results.join('')};`))}
    }
    ${unrolled('g', keptPerThread, lines(restValues.text, add(args)))}
  `;
  return {
    text: added,
    instructions: (issueSlots * block + restValues.issueSlots) * keptPerThread,
  };
}

/** Writes the results of a thread's blocks of columns from `state`. */
function storeColumns(plan: CudaPairTilePlan, running: RunningResult, state: string): string {
  const isSingle = plan.columns.length === 1;
  return lines(
    ...running.outputs.flatMap((output, n) =>
      plan.columns.slice(n, n + 1).map((one) => {
        const text = storeText(plan, one, output);
        if (!isSingle) return lines('{', output.bind(state), text, '}');
        return lines(state !== 's' && `const State& s = ${state};`, text);
      }),
    ),
  );
}

function storeText(
  { axis, ranges }: CudaPairTilePlan,
  one: ColumnBlock,
  { value, index, names, readsCount }: RunningOutput,
): string {
  const statement =
    (to: string, type: string) =>
    (text: string, entry: number): string => {
      const { offset, column } = resultPlace(one, entry);
      const place =
        column === undefined
          ? String(offset)
          : `${columnOfThread(one, column)} + ${offset - column}`;
      const at = `${to}[(layer * kept + row) * ${resultWidth(one)} + ${place}]`;
      const guard =
        column === undefined
          ? hasFirstColumn(one)
          : `${columnOfThread(one, column)} < ${one.columns}`;
      return `if (${guard}) ${at} = (${type})(${text});`;
    };
  return lines(
    readsCount && `const V count = (V)${ranges ? 'seen' : rowNames(axis).reduced};`,
    ...value.map(statement(names.value, 'V')),
    ...index.map(statement(names.index, 'int')),
  );
}

/** Merges the parts of every kept row and thread of columns in order. */
export function cudaColumnsMerge(plan: CudaPairTilePlan, running: CudaRunningResult): CudaKernel {
  const threads = columnThreads(plan);
  const state = plan.columns.length === 1 ? 's' : 'total';
  return mergeFrame(plan, running, {
    states: threads,
    body: cpp`
      const long long kept = ${rowNames(plan.axis).kept}, states = kept * ${threads};
      ${MERGE_PLACE}
      if (place >= states * batch) return;
      const long long layer = place / states, state = place - layer * states;
      const long long row = state / ${threads};
      const int columnThread = (int)(state - row * ${threads});
      ${columnsOfThread(plan)}
      State ${state} = empty();
      #pragma unroll 4
      for (int part = 0; part < ${plan.splits}; ++part) {
        State t;
        {
          const long long kept = states, row = state;
          ${stateWords(plan, running).load('t')}
        }
        merge(${state}, t);
      }
      ${storeColumns(plan, running, state)}
    `,
  });
}
