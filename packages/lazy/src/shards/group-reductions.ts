import type { Tensor } from '@mercer/tensor';
import { formulasOf, sidesOf } from '@mercer/tensor/operation';
import { bindArguments, checkArguments } from '../bind-arguments.js';
import { CALL_OPTIONS, readOptions, type ReductionOptions } from '../call-options.js';
import { LazyError } from '../lazy-error.js';
import type { LazyData } from '../make-input.js';
import { pairCall } from '../pair-call.js';
import { asOuts, checkIndexDtype, checkOutDtype, wantedResults } from '../results.js';
import { usedBy, type JointTask } from '../task.js';
import { holdTraced } from '../traced-inputs.js';
import { cellTask } from './cell-task.js';
import { begun } from './compute-shards.js';
import { mergeRule, type PartialResult } from './merge-rules.js';
import { checkGroup, gatherOf, groupRows, type ReductionGroup } from './reduction-group.js';
import { written, type ComputeTask } from './run-shards.js';
import { disposeState, merged, type ShardState } from './shard-state.js';
import { checkShardedOuts } from './sharded-reductions.js';

/**
 * The reductions of a task whose reduced rows are spread over processes: each computes what the rules of its kinds merge of its own rows, all of them gather
 * these states, and merge them in the order of ranks. So all have the same bits.
 *
 * @throws LazyError, MercerError; what the group, a device or the signal ends it with. Tensors given as `out` are as they were then
 */
export async function groupReductions(
  task: JointTask,
  args: readonly LazyData[],
  given: ReductionOptions,
  computeTask: ComputeTask,
): Promise<Tensor[]> {
  const { what, reductions } = task;
  const { group: of, out, ...options } = readOptions<ReductionOptions>(what, given, CALL_OPTIONS);
  const group = checkGroup(what, of, options);
  const outs = asOuts(task, out);
  checkArguments(what, args);
  checkIndexDtype(what, options.indexDtype, reductions);
  const inputs = bindArguments(what, task.inputs, args);
  const formulas = formulasOf(reductions);
  const used = usedBy(formulas);
  const anywhere = inputs.map((one) => ({ ...one, device: undefined }));
  const { device } = group;
  const call = pairCall(what, formulas, anywhere, {
    stream: undefined,
    outs: [],
    dtype: options.dtype,
    device,
  });
  checkOutDtype(what, options.outDtype, reductions, call.sizes.dtype);
  const wanted = wantedResults(reductions, call, options);
  const read = inputs.flatMap(({ source }, place) =>
    source.kind === 'tensor' && used.has(place) ? [source.tensor] : [],
  );
  checkShardedOuts(task, wanted, outs, read, device);
  const { dtype, rowsI, rowsJ } = call.sizes;
  const { reducedRows } = sidesOf(reductions[0], call.sizes);
  const { rows, start } = await groupRows(what, group, reductions[0], call.sizes);
  checkLists(task, rows);
  const { debug, signal, indexDtype = 'int32', outDtype } = options;
  const rules = reductions.map((one) =>
    mergeRule(one, {
      what,
      dtype: outDtype ?? dtype,
      indexDtype,
      compute: (merging) => computeTask(merging, { debug, signal }),
      // also a process without rows has a place
      isSparse: true,
      isTraced: holdTraced(inputs),
    }),
  );
  const cell =
    reductions[0].axis === 1
      ? ({ i: [0, rowsI], j: [start, rowsJ] } as const)
      : ({ i: [start, rowsI], j: [0, rowsJ] } as const);
  const { indexDtype: _, outDtype: __, ...ofCell } = options;
  const found = await computeTask(cellTask(task, rules)(cell, inputs), {
    ...ofCell,
    dtype,
    ...(options.devices === undefined ? { device } : {}),
  });
  const own = await begun(rules, found, [start, reducedRows]);
  let all: ShardState | undefined;
  const waiting = await gathered(group, own, rows);
  try {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const before: ShardState | undefined = all;
      all = undefined;
      all = before === undefined ? next : await merged(rules, before, next);
    }
    const results: Tensor[] = [];
    for (const [at, rule] of rules.entries()) {
      results.push(...(await rule.finish(all?.[at] as PartialResult)));
    }
    return await Promise.all(results.map((one, at) => written(one, outs[at])));
  } finally {
    for (const one of [all, ...waiting]) disposeState(one);
  }
}

/** @throws LazyError INVALID_ARGUMENT, on all processes */
function checkLists({ what, reductions }: JointTask, rows: readonly number[]): void {
  const k = Math.max(...reductions.map((one) => one.k ?? 0));
  const short = rows.findIndex((count) => count < k);
  if (short === -1) return;
  throw new LazyError(
    'INVALID_ARGUMENT',
    `${what}: k is ${k}, and rank ${short} has ${rows[short]} rows. Each process of a group has at least k: give it more of them.`,
  );
}

/** The states of all processes, in the order of ranks; the own one is taken over. */
async function gathered(
  group: ReductionGroup,
  own: ShardState,
  rows: readonly number[],
): Promise<ShardState[]> {
  const states = rows.map((): { tensors: Tensor[]; rows: number }[] => []);
  const gather = gatherOf(group);
  try {
    for (const { tensors } of own) {
      for (const [rank, count] of rows.entries()) states[rank]?.push({ tensors: [], rows: count });
      for (const one of tensors) {
        using all = await gather(one);
        for (const [rank, state] of states.entries()) {
          using part = all.slice(rank);
          state.at(-1)?.tensors.push(await part.clone());
        }
      }
    }
    return states;
  } catch (error) {
    for (const one of states) disposeState(one);
    throw error;
  } finally {
    disposeState(own);
  }
}
