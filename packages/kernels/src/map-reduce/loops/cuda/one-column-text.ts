import { traitsOf, type Steps } from '@mercer/formula/plan';
import { dtypeBytes } from '../../../dtype.js';
import { cudaLiteral } from '../../../emit/literals.js';
import { cpp, lines, unrolled } from '../../../emit/text.js';
import { allOutputsText, stateWords } from '../../cuda/text.js';
import type { RunningResult } from '../../reducers/running-result.js';
import { wordsOf } from '../../reducers/reducer.js';
import { reducesInPairs } from './choose-tile.js';
import { cudaTileDialect, unrollPragma, type TileNeeds } from './dialect.js';
import { cudaSpans } from './spans-text.js';
import { cudaStaging } from './staging.js';
import { ALL_LANES, rowLists, type RowLists } from './row-lists.js';
import { tileText, type TileText } from '../tile-text.js';
import { takenRoots } from '../loop-formula.js';
import { BLOCK_ROWS, CUDA_SIDE, type CudaPairTilePlan } from '../plan-types.js';

/** Pairs of a thread. */
const MANY_PAIRS = 64;

type Ending = ReturnType<TileText['values']>;

/**
 * A batch entry of results of one column each. The reduced rows are cut into stretches, one for each thread of a row
 * of threads, so that the stretches' results are merged in the order of rows.
 */
export function* cudaOneColumnText(
  plan: CudaPairTilePlan,
  running: RunningResult,
  needs: TileNeeds,
): Steps<string> {
  const { keptPerThread, reducedPerThread: rows, splits, ranges } = plan;
  const { block } = running;
  const lists = rowLists(plan);
  const everyRow = (body: string): string => unrolled('g', keptPerThread, body);
  const storeOf = (state: string): string => cpp`
    const long long row = blockFirst + ty * ${keptPerThread} + g;
    if (row < limit) {
      ${splits > 1 ? stateWords(plan, running).store(state) : allOutputsText(plan, running, state)}
    }
  `;
  const stretch = yield* stretchText(plan, running, needs, lists);
  if (lists !== undefined) {
    return cpp`
      ${lists.declare}
      ${cudaSpans(plan, CUDA_SIDE * rows, stretch)}
      ${lists.found(storeOf('found'))}
    `;
  }
  const reduced = blockReductionText(plan, running);
  return cpp`
    State total[${keptPerThread}];
    ${everyRow('total[g] = empty();')}
    ${block && `${block.type} s[${keptPerThread}];`}
    ${block && everyRow(`s[g] = ${block.empty('total[g]')};`)}
    ${cudaSpans(plan, CUDA_SIDE * rows, lines(stretch, ranges && reduced))}
    ${!ranges && reduced}
    if (tx == 0) {
      ${everyRow(storeOf('total[g]'))}
    }
  `;
}

/**
 * A batch entry of a selection, whose `running` counts in `found[g]` while `phase` is 0 and writes then, `found[g]` places after
 * `total[g].seen`: each thread of a row of threads has a stretch of the reduced rows, so that all are counted before any is written.
 */
export function* cudaSelectionText(
  plan: CudaPairTilePlan,
  running: RunningResult,
  needs: TileNeeds,
): Steps<string> {
  const { keptPerThread, reducedPerThread: rows } = plan;
  const stretch = yield* stretchText(plan, running, needs);
  const text = cpp`
    I found[${keptPerThread}], all[${keptPerThread}];
    ${unrolled('g', keptPerThread, 'found[g] = number(0);')}
    #pragma unroll 1
    for (int phase = 0; phase < 2; ++phase) {
      ${stretch}
      if (phase == 0) {
        #pragma unroll
        for (int g = 0; g < ${keptPerThread}; ++g) {
          I upTo = found[g];
          #pragma unroll
          for (int far = 1; far < ${CUDA_SIDE}; far *= 2) {
            const I before = __shfl_up_sync(${ALL_LANES}, upTo, far, ${CUDA_SIDE});
            upTo += tx >= far ? before : number(0);
          }
          all[g] = __shfl_sync(${ALL_LANES}, upTo, ${CUDA_SIDE - 1}, ${CUDA_SIDE});
          found[g] = upTo - found[g];
        }
      }
    }
    ${unrolled('g', keptPerThread, 'total[g].seen += all[g];')}
  `;
  return cpp`
    State total[${keptPerThread}];
    ${unrolled('g', keptPerThread, 'total[g] = empty();')}
    ${cudaSpans(plan, CUDA_SIDE * rows, text)}
  `;
}

/** A thread's stretch of the rows from `spanFrom` to `spanEnd`. */
function* stretchText(
  plan: CudaPairTilePlan,
  running: RunningResult,
  needs: TileNeeds,
  lists?: RowLists,
): Steps<string> {
  const { formula, keptPerThread, reducedPerThread: rows } = plan;
  const clamped = (row: string): string => `(${row} < spanEnd ? ${row} : spanEnd - 1)`;
  const rowOf = (thread: string, r: string): string =>
    clamped(`(spanFrom + ${thread} * length + q + ${r})`);
  const stage = cudaStaging(plan, rows, rowOf, needs);
  const read = new Set<'row'>();
  const rowAt = (r: string): string => {
    read.add('row');
    return `row[${r}]`;
  };
  const tile = tileText(formula, {
    ...cudaTileDialect(plan, rows, rowAt, needs),
    // written out as a whole for many pairs, copies for the next steps are fetched at its end, and waited for
    stepsPragma: ({ isWhole, steps, issueSlots }) =>
      unrollPragma(
        isWhole ? (keptPerThread * rows >= MANY_PAIRS ? 2 : 'all') : 4,
        steps,
        issueSlots * rows * keptPerThread,
      ),
    ...(stage === undefined ? {} : { stage }),
  });
  const roots = takenRoots(formula).flatMap((n) => tile.roots.slice(n, n + 1));
  yield;
  const loops = tile.loops('', roots);
  yield;
  // the rows' numbers are not kept in registers while the loops run
  const ending = tileText(
    formula,
    cudaTileDialect(plan, rows, () => 'number', needs),
  ).values(roots, 'r', 'g');
  const { block } = running;
  const merge =
    block &&
    unrolled('g', keptPerThread, `merge(total[g], s[g]);\ns[g] = ${block.empty('total[g]')};`);
  const rowNumbers = cpp`
    long long row[${rows}];
    #pragma unroll
    for (int r = 0; r < ${rows}; ++r) row[r] = ${clamped('from + q + r')};
  `;
  const mergeNow = cpp`
    if ((q + ${rows}) % ${BLOCK_ROWS} == 0) {
      ${merge}
    }
  `;
  return cpp`
    const long long least = (spanEnd - spanFrom + ${CUDA_SIDE - 1}) / ${CUDA_SIDE};
    const long long length = (least + ${rows - 1}) / ${rows} * ${rows};
    const long long from = spanFrom + tx * length;
    const long long end = from + length < spanEnd ? from + length : spanEnd;
    #pragma unroll 1
    for (long long q = 0; q < length; q += ${rows}) {
      ${read.has('row') && rowNumbers}
      ${loops}
      ${lists === undefined ? addText(plan, running, ending) : enterText(plan, ending, lists)}
      ${merge && mergeNow}
    }
    ${merge}
  `;
}

/** Adds the pairs of a thread's tile. */
function addText(
  { keptPerThread, reducedPerThread: rows }: CudaPairTilePlan,
  running: RunningResult,
  { text, results }: Ending,
): string {
  const add = running.add('total[g]', 's[g]', [...results, '(I)number']);
  return cpp`
    #pragma unroll
    for (int r = 0; r < ${rows}; ++r) {
      const long long number = from + q + r;
      if (number < end) {
        ${unrolled('g', keptPerThread, lines(text, add))}
      }
    }
  `;
}

/** Enters the pairs of a thread's tile in the lists of the K best. */
function enterText(
  { keptPerThread, reducedPerThread: rows, reduction, dtype }: CudaPairTilePlan,
  { text, results }: Ending,
  lists: RowLists,
): string {
  const worst = cudaLiteral(traitsOf(reduction).extremum === 'least' ? Infinity : -Infinity, dtype);
  return cpp`
    V entered[${rows}][${keptPerThread}];
    #pragma unroll
    for (int r = 0; r < ${rows}; ++r) {
      const long long number = from + q + r;
      ${unrolled('g', keptPerThread, `entered[r][g] = ${worst};`)}
      if (number < end) {
        ${unrolled('g', keptPerThread, lines(text, `entered[r][g] = ${results.join('')};`))}
      }
    }
    ${lists.enter}
  `;
}

/** Merges the results of a row of threads, in order, into those of the first one. */
function blockReductionText(plan: CudaPairTilePlan, { accumulators }: RunningResult): string {
  const { keptPerThread, dtype } = plan;
  if (reducesInPairs(wordsOf(accumulators, dtype), dtypeBytes(dtype))) {
    // pairs of neighbours, then pairs of pairs
    return cpp`
      {
        __shared__ State partial[${CUDA_SIDE}][${CUDA_SIDE / 2}];
        #pragma unroll 1
        for (int far = 1; far < ${CUDA_SIDE}; far *= 2) {
          #pragma unroll
          for (int g = 0; g < ${keptPerThread}; ++g) {
            __syncthreads();
            if (tx % (2 * far) == far) partial[ty][tx / (2 * far)] = total[g];
            __syncthreads();
            if (tx % (2 * far) == 0) merge(total[g], partial[ty][tx / (2 * far)]);
            else total[g] = empty();
          }
        }
      }
    `;
  }
  return cpp`
    {
      __shared__ State partial[${CUDA_SIDE}];
      #pragma unroll
      for (int g = 0; g < ${keptPerThread}; ++g) {
        #pragma unroll 1
        for (int next = 1; next < ${CUDA_SIDE}; ++next) {
          __syncthreads();
          if (tx == next) {
            partial[ty] = total[g];
            total[g] = empty();
          }
          __syncthreads();
          if (tx == 0) merge(total[g], partial[ty]);
        }
      }
    }
  `;
}
