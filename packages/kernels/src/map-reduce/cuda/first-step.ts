import { cpp, lines } from '../../emit/text.js';
import { PART_UNIT } from './choose-tile.js';
import {
  blockRows,
  laneOfThread,
  lanesOf,
  mergeSlices,
  rowOfThread,
  sliceOfThread,
  sliceStride,
  slicesRoom,
} from './block.js';
import { cudaPairInputs } from './pair-inputs.js';
import { everyRow, pairsLoopText } from './pairs-loop.js';
import { stagedRow } from './staged-row.js';
import type { CudaPairText } from './pair-text.js';
import { allOutputsText, stateWords } from './text.js';
import { loaded } from '../half-storage.js';
import { batchStrideName, inputName, rowNames, sidesOf, strideName } from '../params.js';
import { componentsOf, rowInputs } from '../plan-inputs.js';
import type { CudaMapReducePlan } from '../plan-types.js';
import type { RunningResult } from '../reducers/running-result.js';

/** The rows of a slice are a multiple of so many: they are added as many at a time. */
const SLICE_UNIT = 8;
const WARP = 32;

/** The body of the kernel that computes the formula. */
export function firstStepText(
  plan: CudaMapReducePlan,
  running: RunningResult,
  pair: CudaPairText,
): string {
  const { used } = pair;
  const { kept, reduced } = sidesOf(plan);
  const names = rowNames(plan.axis);
  const own = used.of(kept);
  const other = used.of(reduced);
  const row = stagedRow(componentsOf(plan.inputs, reduced), plan.dtype);
  const { block } = running;
  const inRegisters = running.inMemory === undefined;
  const limit = plan.ranges ? 'last' : 'kept';
  const ofPairs = cudaPairInputs(plan, limit);
  const unrolled = (body: string): string => everyRow(plan, body);
  const sliced = plan.slices > 1;
  const isStaged = other.length > 0 || ofPairs.stage !== '';
  const stage = cpp`
    ${isStaged && '__syncthreads();'}
    ${other.length > 0 && stagingText(plan, reduced, row.width)}
    ${ofPairs.stage}
    ${isStaged && '__syncthreads();'}
  `;
  const apart = sliceStride(plan, row.width);
  const pairs = pairsLoopText(plan, running, pair, { row, ofPairs });
  const store = (state: string): string =>
    plan.splits > 1 ? stateWords(plan, running).store(state) : allOutputsText(plan, running, state);
  const parameters = used.of('parameter').map((one) => {
    const { position: p, component } = one;
    const from = `${inputName(p)}[layer * ${batchStrideName(p)} + ${component}]`;
    return `const V ${one.name} = ${loaded(one, from)};`;
  });
  const ownRow = cpp`
    // a row past the end computes what the last one does, and nothing of it is written
    const long long wanted = ${rowOfThread(plan)};
    const long long row = wanted < ${limit} ? wanted : ${limit} - 1;
    ${own.map(({ position: p, component, storage }, q) => {
      const from = `${inputName(p)}[layer * ${batchStrideName(p)} + row * ${strideName(p)} + ${component}]`;
      return `own[r][${q}] = ${loaded({ storage }, from)};`;
    })}
  `;
  const storeRow = cpp`
    const long long row = ${rowOfThread(plan)};
    if (row < ${limit}) {
      ${store('total[r]')}
    }
  `;
  const tiles = cpp`
    ${tilesLoop(plan)}
      ${stage}
      ${block && `${block.type} s[${plan.rowsPerThread}];`}
      ${block && unrolled(`s[r] = ${block.empty('total[r]')};`)}
      ${pairs}
      ${block && unrolled('merge(total[r], s[r]);')}
    }
  `;
  return cpp`
    const long long kept = ${names.kept}${plan.ranges ? '' : `, reduced = ${names.reduced}`};
    ${rowsOfBlock(plan)}
    ${sliceOfThread(plan)}
    ${other.length > 0 && `__shared__ __align__(16) V ${sliced ? 'tiles' : 'staged'}[${plan.slices * apart}];`}
    ${other.length > 0 && sliced && `V* const staged = tiles + slice * ${apart};`}
    ${sliced && slicesRoom(plan)}
    ${ofPairs.declare}
    for (long long layer = blockIdx.z; layer < batch; layer += gridDim.z) {
      ${parameters}
      ${own.length > 0 && `V own[${plan.rowsPerThread}][${own.length}];`}
      ${inRegisters && `State total[${plan.rowsPerThread}];`}
      ${unrolled(lines(running.inMemory?.begin ?? 'total[r] = empty();', own.length > 0 && ownRow))}
      ${plan.ranges ? spansText(plan, block, { stage, pairs, unrolled }) : tiles}
      ${sliced && mergeSlices(plan, running, { everyRow: unrolled, limit, store })}
      ${!sliced && inRegisters && unrolled(storeRow)}
    }
  `;
}

/** The first kept row of a block, and which rows it reduces. */
function rowsOfBlock(plan: CudaMapReducePlan): string {
  if (plan.ranges) {
    return cpp`
      const long long* const here = tasks + (long long)blockIdx.x * 4;
      const long long first = here[0], last = first + here[1];
    `;
  }
  const first = `const long long first = (long long)blockIdx.x * ${blockRows(plan)};`;
  if (plan.splits === 1) return lines(first, 'const long long from = 0, end = reduced;');
  return cpp`
    ${first}
    const int part = blockIdx.y;
    const long long units = (reduced + ${PART_UNIT} - 1) / ${PART_UNIT};
    const long long length = (units + ${plan.splits} - 1) / ${plan.splits} * ${PART_UNIT};
    const long long from = part * length < reduced ? part * length : reduced;
    const long long end = from + length < reduced ? from + length : reduced;
  `;
}

/** The head of the loop over tiles: `count` rows from `start` on are those of a thread's slice, none behind its end. */
function tilesLoop({ slices, tile }: CudaMapReducePlan): string {
  if (slices === 1) {
    return cpp`
      for (long long start = from; start < end; start += ${tile}) {
        const int count = end - start < ${tile} ? (int)(end - start) : ${tile};
    `;
  }
  const all = slices * SLICE_UNIT;
  return cpp`
    const long long share = (end - from + ${all - 1}) / ${all} * ${SLICE_UNIT};
    for (long long done = 0; done < share; done += ${tile}) {
      const long long start = from + slice * share + done;
      const long long left = share - done < end - start ? share - done : end - start;
      const int count = left < ${tile} ? (int)left : ${tile};
  `;
}

/** The spans of a task; what is summed on its own goes on over short spans. */
function spansText(
  { tile, rowsPerThread }: CudaMapReducePlan,
  block: RunningResult['block'],
  text: {
    readonly stage: string;
    readonly pairs: string;
    readonly unrolled: (body: string) => string;
  },
): string {
  const fresh = block && text.unrolled(`s[r] = ${block.empty('total[r]')};`);
  const mergeLong = cpp`
    fresh += count;
    if (fresh < ${tile}) continue;
    fresh = 0;
    ${block && text.unrolled(`merge(total[r], s[r]);\ns[r] = ${block.empty('total[r]')};`)}
  `;
  return cpp`
    ${block && [`${block.type} s[${rowsPerThread}];`, fresh, 'int fresh = 0;']}
    long long seen = 0;
    for (long long span = here[2]; span < here[3]; ++span) {
      const long long end = spans[2 * span + 1];
      for (long long start = spans[2 * span]; start < end; start += ${tile}) {
        const int count = end - start < ${tile} ? (int)(end - start) : ${tile};
        ${text.stage}
        ${text.pairs}
        seen += count;
        ${block && mergeLong}
      }
    }
    ${block && text.unrolled('merge(total[r], s[r]);')}
  `;
}

/** Copies `count` rows of every input of the reduced side into shared memory, row by row; each slice its own. */
function stagingText(plan: CudaMapReducePlan, reduced: 'i' | 'j', rowWidth: number): string {
  let place = 0;
  // slices and blocks of a warp copy many numbers a thread: their loads are under way together
  const atOnce = plan.slices > 1 || lanesOf(plan) === WARP ? 4 : 1;
  const copies = rowInputs(plan.inputs, reduced).map(({ position: p, dim, storage }) => {
    const from = `${inputName(p)}[layer * ${batchStrideName(p)} + (start + e / ${dim}) * ${strideName(p)} + e % ${dim}]`;
    place += dim;
    return cpp`
      #pragma unroll ${atOnce}
      for (int e = ${laneOfThread(plan)}; e < count * ${dim}; e += ${lanesOf(plan)})
        staged[e / ${dim} * ${rowWidth} + ${place - dim} + e % ${dim}] = ${loaded({ storage }, from)};
    `;
  });
  return lines(...copies);
}
