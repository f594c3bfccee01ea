import { indent, lines } from '../../emit/text.js';
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
  const split = plan.splits > 1;
  const names = rowNames(plan.axis);
  const rows = String(plan.rowsPerThread);
  const tile = String(plan.tile);
  const own = used.of(kept);
  const other = used.of(reduced);
  const row = stagedRow(componentsOf(plan.inputs, reduced), plan.dtype);
  const { block } = running;
  const inRegisters = running.inMemory === undefined;
  const limit = plan.ranges ? 'last' : 'kept';
  const ofPairs = cudaPairInputs(plan, limit);
  const unrolled = (body: string): string => everyRow(plan, body);
  const sliced = plan.slices > 1;
  const stage =
    other.length > 0 || ofPairs.stage !== ''
      ? lines(
          '__syncthreads();',
          other.length > 0 && stagingText(plan, reduced, row.width),
          ofPairs.stage,
          '__syncthreads();',
        )
      : '';
  const apart = sliceStride(plan, row.width);
  const staged = String(plan.slices * apart);
  const pairs = pairsLoopText(plan, running, pair, { row, ofPairs });
  const store = (state: string): string =>
    split ? stateWords(plan, running).store(state) : allOutputsText(plan, running, state);
  return lines(
    `const long long kept = ${names.kept}${plan.ranges ? '' : `, reduced = ${names.reduced}`};`,
    rowsOfBlock(plan),
    sliceOfThread(plan),
    other.length > 0 &&
      (sliced
        ? lines(
            `__shared__ __align__(16) V tiles[${staged}];`,
            `V* const staged = tiles + slice * ${apart};`,
          )
        : `__shared__ __align__(16) V staged[${staged}];`),
    sliced && slicesRoom(plan),
    ofPairs.declare,
    'for (long long layer = blockIdx.z; layer < batch; layer += gridDim.z) {',
    indent(
      lines(
        ...used
          .of('parameter')
          .map(
            (one) =>
              `const V ${one.name} = ${loaded(one, `${inputName(one.position)}[layer * ${batchStrideName(one.position)} + ${one.component}]`)};`,
          ),
        own.length > 0 && `V own[${rows}][${own.length}];`,
        inRegisters && `State total[${rows}];`,
        unrolled(
          lines(
            running.inMemory?.begin ?? 'total[r] = empty();',
            own.length > 0 &&
              lines(
                '// a row past the end computes what the last one does, and nothing of it is written',
                `const long long wanted = ${rowOfThread(plan)};`,
                `const long long row = wanted < ${limit} ? wanted : ${limit} - 1;`,
                ...own.map(
                  ({ position: p, component, storage }, q) =>
                    `own[r][${q}] = ${loaded({ storage }, `${inputName(p)}[layer * ${batchStrideName(p)} + row * ${strideName(p)} + ${component}]`)};`,
                ),
              ),
          ),
        ),
        plan.ranges
          ? spansText(tile, block, { stage, pairs, unrolled, rows })
          : lines(
              tilesLoop(plan),
              indent(stage),
              block !== undefined && `  ${block.type} s[${rows}];`,
              block !== undefined && indent(unrolled(`s[r] = ${block.empty('total[r]')};`)),
              indent(pairs),
              block !== undefined && indent(unrolled('merge(total[r], s[r]);')),
              '}',
            ),
        sliced
          ? mergeSlices(plan, running, { everyRow: unrolled, limit, store })
          : inRegisters &&
              unrolled(
                lines(
                  `const long long row = ${rowOfThread(plan)};`,
                  `if (row < ${limit}) {`,
                  indent(store('total[r]')),
                  '}',
                ),
              ),
      ),
    ),
    '}',
  );
}

/** The first kept row of a block, and which rows it reduces. */
function rowsOfBlock(plan: CudaMapReducePlan): string {
  if (plan.ranges) {
    return lines(
      'const long long* const here = tasks + (long long)blockIdx.x * 4;',
      'const long long first = here[0], last = first + here[1];',
    );
  }
  const first = `const long long first = (long long)blockIdx.x * ${blockRows(plan)};`;
  if (plan.splits === 1) return lines(first, 'const long long from = 0, end = reduced;');
  const [parts, unit] = [String(plan.splits), String(PART_UNIT)];
  return lines(
    first,
    'const int part = blockIdx.y;',
    `const long long units = (reduced + ${unit} - 1) / ${unit};`,
    `const long long length = (units + ${parts} - 1) / ${parts} * ${unit};`,
    'const long long from = part * length < reduced ? part * length : reduced;',
    'const long long end = from + length < reduced ? from + length : reduced;',
  );
}

/** The head of the loop over tiles: `count` rows from `start` on are those of a thread's slice, none behind its end. */
function tilesLoop({ slices, tile }: CudaMapReducePlan): string {
  const size = String(tile);
  if (slices === 1) {
    return lines(
      `for (long long start = from; start < end; start += ${size}) {`,
      `  const int count = end - start < ${size} ? (int)(end - start) : ${size};`,
    );
  }
  const unit = String(SLICE_UNIT);
  return lines(
    `const long long share = (end - from + ${slices * SLICE_UNIT - 1}) / ${slices * SLICE_UNIT} * ${unit};`,
    `for (long long done = 0; done < share; done += ${size}) {`,
    '  const long long start = from + slice * share + done;',
    '  const long long left = share - done < end - start ? share - done : end - start;',
    `  const int count = left < ${size} ? (int)left : ${size};`,
  );
}

/** The spans of a task; what is summed on its own goes on over short spans. */
function spansText(
  tile: string,
  block: RunningResult['block'],
  text: {
    readonly stage: string;
    readonly pairs: string;
    readonly rows: string;
    readonly unrolled: (body: string) => string;
  },
): string {
  return lines(
    block !== undefined &&
      lines(
        `${block.type} s[${text.rows}];`,
        text.unrolled(`s[r] = ${block.empty('total[r]')};`),
        'int fresh = 0;',
      ),
    'long long seen = 0;',
    'for (long long span = here[2]; span < here[3]; ++span) {',
    '  const long long end = spans[2 * span + 1];',
    `  for (long long start = spans[2 * span]; start < end; start += ${tile}) {`,
    `    const int count = end - start < ${tile} ? (int)(end - start) : ${tile};`,
    indent(text.stage, 4),
    indent(text.pairs, 4),
    '    seen += count;',
    block !== undefined &&
      lines(
        '    fresh += count;',
        `    if (fresh < ${tile}) continue;`,
        '    fresh = 0;',
        indent(text.unrolled(`merge(total[r], s[r]);\ns[r] = ${block.empty('total[r]')};`), 4),
      ),
    '  }',
    '}',
    block !== undefined && text.unrolled('merge(total[r], s[r]);'),
  );
}

/** Copies `count` rows of every input of the reduced side into shared memory, row by row; each slice its own. */
function stagingText(plan: CudaMapReducePlan, reduced: 'i' | 'j', rowWidth: number): string {
  const inputs = rowInputs(plan.inputs, reduced);
  const width = String(rowWidth);
  let place = 0;
  // slices and blocks of a warp copy many numbers a thread: their loads are under way together
  const atOnce = plan.slices > 1 || lanesOf(plan) === WARP ? '4' : '1';
  const copies = inputs.map(({ position: p, dim, storage }) => {
    const d = String(dim);
    const to = String(place);
    place += dim;
    return lines(
      `#pragma unroll ${atOnce}`,
      `for (int e = ${laneOfThread(plan)}; e < count * ${d}; e += ${lanesOf(plan)})`,
      `  staged[e / ${d} * ${width} + ${to} + e % ${d}] = ${loaded({ storage }, `${inputName(p)}[layer * ${batchStrideName(p)} + (start + e / ${d}) * ${strideName(p)} + e % ${d}]`)};`,
    );
  });
  return lines(...copies);
}
