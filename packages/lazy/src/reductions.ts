import type { ReductionKind } from '@mercer/formula';
import type { MapReducePlan } from '@mercer/kernels';
import { own } from '@mercer/options';
import {
  isTensor,
  type Pending,
  type ShardOptions,
  type Stream,
  type Tensor,
} from '@mercer/tensor';
import {
  addReductions,
  assertTensor,
  CallSteps,
  formulasOf,
  keyPart,
  pendingCall,
  pendingOf,
  promiseOf,
  promisesTraced,
  writesTraced,
  Operation,
  type CallView,
  type PairInput,
  cutsRows,
} from '@mercer/tensor/operation';
import { bindArguments, checkArguments } from './bind-arguments.js';
import {
  CALL_OPTIONS,
  PREPARE_OPTIONS,
  PREPARED_OPTIONS,
  readOptions,
  type PrepareOptions,
  type ReductionOptions,
} from './call-options.js';
import { withChangingLiterals } from './changing-literals.js';
import { describeInput, type Input } from './input.js';
import { LazyError, translation } from './lazy-error.js';
import { inputTensors, inputViews, placedInputs, readable } from './input-views.js';
import type { LazyData } from './make-input.js';
import { pairCall } from './pair-call.js';
import { keptRanges } from './ranges-option.js';
import type {
  BothKind,
  CallReduceOptions,
  IndexDType,
  OutDType,
  PendingResult,
  ResultOf,
} from './reduction-types.js';
import { checkDense, checkPrepared, readAsItLies, type Example } from './prepared-inputs.js';
import {
  asOuts,
  asResult,
  asResults,
  checkIndexDtype,
  checkOutDtype,
  checkCompute,
  checkOuts,
  checkRows,
  MAX_INDEXED_ROWS,
  NO_RESULTS,
  wantedResults,
  type Results,
} from './results.js';
import { readsRows } from './row-reader.js';
import { groupReductions } from './shards/group-reductions.js';
import type { ComputeTask } from './shards/run-shards.js';
import { shardedReductions } from './shards/sharded-reductions.js';
import { labelOf, usedBy, type JointTask } from './task.js';
import { holdTraced, mapped } from './traced-inputs.js';

type Given = readonly [task: JointTask, args: readonly LazyData[]];
/** With the tensors that take the results, by result. */
type Arguments = readonly [...Given, outs: readonly (Tensor | undefined)[]];

/** The reductions of a task, of a `LazyTensor`, a `genred` or a gradient, as one call. */
const operation = new Operation<Arguments, ReductionOptions, Example, Given>({
  what: ([{ what }]) => what,
  options: CALL_OPTIONS,
  prepareOptions: PREPARE_OPTIONS,
  freeOptions: PREPARED_OPTIONS,
  readOptions,
  snapshot: ([task, args], options) => {
    const outs = asOuts(task, options.out);
    checkArguments(task.what, args);
    return [[task, [...args], outs], options];
  },
  identify: ([task, args, outs], options, example) => {
    const { accumulate, sumScheme, fastMath, dtype, indexDtype, outDtype, ranges } = options;
    const inputs = tensorsOf(task, args);
    if (inputs === undefined) return undefined;
    const tensors = { inputs, outs };
    // All else was fixed when it was prepared.
    if (example !== undefined) return { key: '', tensors };
    if (ranges !== undefined) return { key: undefined, tensors };
    let key = '';
    for (const one of [accumulate, sumScheme, fastMath, dtype, indexDtype, outDtype]) {
      const part = keyPart(one);
      if (part === undefined) return undefined;
      key += part;
    }
    for (const { kind, axis, k, formula, weight } of task.reductions) {
      key += `|${kind}${axis} ${k ?? ''} ${formula.id} ${weight?.id ?? ''}`;
    }
    for (const { category, isTable, steps, dim, source } of task.inputs) {
      if (source.kind === 'data') return { key: undefined, tensors };
      key += `|${category}${isTable ? ' table' : ''} ${dim}`;
      if (steps.length > 0) key += JSON.stringify(steps);
    }
    return { key, tensors };
  },
  place: async ([task, args, outs], options, made) => {
    const { what } = task;
    const bound = { ...task, inputs: bindArguments(what, task.inputs, args) };
    const whole = await withChangingLiterals(bound, options.signal);
    const formulas = formulasOf(whole.reductions);
    const used = usedBy(formulas);
    const isPlaced = whole.inputs.some(
      ({ source }, place) => source.kind === 'data' && used.has(place),
    );
    if (!isPlaced) return [whole, [], outs];
    const call = pairCall(what, formulas, whole.inputs, placeOf(options, outs));
    const inputs = await placedInputs(whole.inputs, used, call, options, made);
    return [{ ...whole, inputs }, [], outs];
  },
  plan: ([task, args, outs], options, prepared) => {
    const { what, reductions, inputs: declared } = task;
    const { indexDtype, outDtype, ranges, stream, accumulate, sumScheme, fastMath } = options;
    checkIndexDtype(what, indexDtype, reductions);
    checkCompute(what, options);
    if (prepared !== undefined) {
      for (const [at, one] of args.entries()) assertTensor(one, `${what}: argument ${at}`);
    }
    const inputs = bindArguments(what, declared, args);
    const formulas = formulasOf(reductions);
    const call = pairCall(what, formulas, inputs, placeOf(options, outs));
    const { sizes, device } = call;
    checkOutDtype(what, outDtype, reductions, sizes.dtype);
    const example = typeof prepared === 'object' ? prepared : undefined;
    if (example !== undefined) checkPrepared(what, call, inputs, example, ranges !== undefined);
    if (prepared !== undefined) for (const out of outs) checkDense(what, out);
    const tensors = { inputs: inputTensors(inputs), outs };
    const steps = new CallSteps(device, tensors);
    const views = inputViews(steps, inputs, usedBy(formulas), (one) => unplaced(what, one));
    const bound = views.map((one): PairInput | undefined => {
      if (one === undefined) return undefined;
      const { view, input } = one;
      return prepared === undefined
        ? readable(steps, one, sizes)
        : readAsItLies(what, input, view, sizes, prepared);
    });
    const read = views.flatMap((one) => (one === undefined ? [] : [one.memory]));
    const wanted = wantedResults(reductions, call, { indexDtype, outDtype });
    checkOuts(task, call, wanted, outs, read);
    checkRows(what, reductions[0], call);
    const results = reductions.map(() => ({ ...NO_VIEWS }));
    for (const { place, name, shape, dtype } of wanted) {
      const to = steps.rowMajorResult({ shape, dtype }, name === 'value' ? sizes.dtype : 'int32');
      const of = results[place];
      if (of !== undefined) of[name] = to;
    }
    // An example says which kernels are needed, also where it needs none itself.
    const isEmpty = wanted.every(({ shape }) => shape.includes(0));
    let products = false;
    if (!isEmpty || prepared === 'example') {
      products = addReductions(steps, {
        what,
        reductions,
        sizes,
        inputs: bound,
        results,
        reductionOf: wanted.map(({ place }) => place),
        accumulate,
        sumScheme,
        fastMath,
        stream,
        products: prepared === undefined || (example?.products !== false && 'prepared'),
        ranges: ranges === undefined ? undefined : keptRanges(what, reductions[0], ranges),
        refused: (error, place) =>
          translation(place === undefined ? what : labelOf(task, place), error),
      });
    }
    const dtypes = bound.map((one) => one?.view.dtype);
    return { tensors, steps, holds: reductions, example: { ...call, dtypes, products } };
  },
});

/**
 * Computes the results of a task with traced values among its inputs.
 *
 * @param compute computes a task whose inputs are tensors, or data of the host
 */
export type TracedReductions = (
  task: JointTask,
  options: ReductionOptions | undefined,
  compute: (task: JointTask, options: ReductionOptions | undefined) => Tensor[] | Promise<Tensor[]>,
) => Tensor[] | Promise<Tensor[]>;

let rule: TracedReductions = ({ what }) => {
  throw new Error(`${what}: there is no rule`);
};

/** Gives reductions their derivative rule. It stands above them, since gradients are reductions too. */
export function setTracedReductions(tracedReductions: TracedReductions): void {
  rule = tracedReductions;
}

/**
 * Computes a task, with data for its placeholders; gives the results themselves where nothing had to be waited for.
 *
 * @throws LazyError, MercerError, the compiler's or the loader's error, as it rejects
 */
export function computed(
  task: JointTask,
  args: readonly LazyData[],
  options: ReductionOptions | undefined,
): readonly Results[] | Promise<readonly Results[]> {
  const { reductions } = task;
  const isTraced = holdTraced(task.inputs, args);
  const found = isTraced ? traced(task, args, options) : started(task, args, options);
  return mapped(found, (tensors) => asResults(reductions, tensors));
}

/** The result of a task that is one reduction; itself where nothing had to be waited for. @throws as it rejects */
export function resultOf<K extends ReductionKind, D extends OutDType, I extends IndexDType>(
  task: JointTask,
  args: readonly LazyData[],
  options: CallReduceOptions<K, D, I> | undefined,
): ResultOf<K, D, I> | Promise<ResultOf<K, D, I>> {
  return mapped(computed(task, args, options), onlyResult<K, D, I>);
}

const onlyResult = <K extends ReductionKind, D extends OutDType, I extends IndexDType>([
  results = NO_RESULTS,
]: readonly Results[]): ResultOf<K, D, I> => asResult<K, D, I>(results);

const BOTH: Readonly<Record<BothKind, true>> = {
  MinArgMin: true,
  MaxArgMax: true,
  KMinArgKMin: true,
  KMaxArgKMax: true,
};

/** The promise of a result of a kind; of one tensor, with the tensor's methods. */
export function promised<K extends ReductionKind, D extends OutDType, I extends IndexDType>(
  kind: K,
  compute: () => ResultOf<K, D, I> | Promise<ResultOf<K, D, I>>,
): PendingResult<ResultOf<K, D, I>> {
  const result = Object.hasOwn(BOTH, kind) ? promiseOf(compute) : pendingCall(compute);
  return result as PendingResult<ResultOf<K, D, I>>;
}

/** Whether a reduction of these inputs makes several calls, one after another: in blocks of rows, or with other processes. */
export const makesSeveralCalls = (
  inputs: readonly Pick<Input, 'source'>[],
  args: readonly unknown[],
  options: ReductionOptions | undefined,
): boolean => groupOf(options) !== undefined || cutsRows(options) || readsRows(inputs, args);

/** The result of a reduction of these inputs, in one call or in several. */
export const pendingReduction = <T extends object>(
  inputs: readonly Pick<Input, 'source'>[],
  args: readonly unknown[],
  options: ReductionOptions | undefined,
  make: () => T | Promise<T>,
): Pending<T> => (makesSeveralCalls(inputs, args, options) ? pendingOf(make) : pendingCall(make));

/** The promise of the result of a task that is one reduction of this kind. What is thrown where the task is made rejects too. */
export function promisedResult<K extends ReductionKind, D extends OutDType, I extends IndexDType>(
  kind: K,
  makeTask: () => JointTask,
  args: readonly LazyData[],
  options: CallReduceOptions<K, D, I> | undefined,
): PendingResult<ResultOf<K, D, I>> {
  return promised(kind, () => {
    const task = makeTask();
    const result = (): ResultOf<K, D, I> | Promise<ResultOf<K, D, I>> =>
      resultOf<K, D, I>(task, args, options);
    const isOfSeveral = Object.hasOwn(BOTH, kind);
    return isOfSeveral ? result() : pendingReduction(task.inputs, args, options, result);
  });
}

/** The results of a task with traced values: of a group those of its parts, which are gathered and merged. */
function traced(
  task: JointTask,
  args: readonly LazyData[],
  options: ReductionOptions | undefined,
): Tensor[] | Promise<Tensor[]> {
  if (groupOf(options) !== undefined) {
    if (own(options ?? {}, 'out').out !== undefined)
      throw writesTraced(task.what, 'the option out overwrites a tensor');
    return promisesTraced(groupReductions(task, args, options ?? {}, anyhow));
  }
  const bound = { ...task, inputs: bindArguments(task.what, task.inputs, args) };
  return rule(bound, options, (of, given) => started(of, [], given));
}

/** The results of a task whose inputs are there, traced or not. */
const anyhow: ComputeTask = (task, options) =>
  holdTraced(task.inputs) ? traced(task, [], options) : started(task, [], options);

/** The processes that a call is spread over. What is no object of options is refused where they are read. */
export function groupOf(options: ReductionOptions | undefined): unknown {
  try {
    return options === undefined ? undefined : own(options, 'group').group;
  } catch {
    return undefined; // a revoked Proxy
  }
}

/** Whether the side that is reduced may have more rows than kernels count. */
function hasManyRows(
  { inputs, reductions: [{ axis }] }: JointTask,
  args: readonly LazyData[],
): boolean {
  const reduced = axis === 1 ? 'j' : 'i';
  const isMany = (rows: number): boolean => rows > MAX_INDEXED_ROWS;
  for (const { category, extent, source } of inputs) {
    if (category !== reduced && category !== 'pair') continue;
    const given = source.kind === 'placeholder' ? args[source.position] : undefined;
    if (isTensor(given)) {
      if (given.shape.some(isMany)) return true;
    } else if (extent !== undefined && (isMany(extent.rows) || isMany(extent.columns ?? 0))) {
      return true;
    }
  }
  return false;
}

/** The results of a task without traced values, whole or block by block. */
function started(
  task: JointTask,
  args: readonly LazyData[],
  options: ReductionOptions | undefined,
): Tensor[] | Promise<Tensor[]> {
  if (groupOf(options) !== undefined) {
    return groupReductions(task, args, options ?? {}, anyhow);
  }
  const isCut = makesSeveralCalls(task.inputs, args, options) || hasManyRows(task, args);
  if (!isCut) {
    return operation.start([task, args], options);
  }
  return shardedReductions(task, args, options ?? {}, (cell, given) =>
    operation.start([cell, []], given),
  );
}

/** A task whose kernels are loaded. */
export interface PreparedTask {
  /** The plan of each pass. */
  readonly plans: readonly MapReducePlan[];
  readonly run: (
    args: readonly Tensor[],
    options: { readonly out?: unknown; readonly stream?: Stream | undefined } | undefined,
  ) => readonly Results[];
  /** Returns what the ranges hold on the device. */
  readonly dispose: () => void;
}

/** Compiles a task for tensors like these. */
export async function prepared(
  task: JointTask,
  args: readonly Tensor[],
  options: PrepareOptions | undefined,
): Promise<PreparedTask> {
  if (cutsRows(options as ShardOptions | undefined) || readsRows(task.inputs, args))
    throw preparedBlocks(task.what);
  for (const one of task.inputs) {
    if (one.source.kind === 'tensor') assertTensor(one.source.tensor, `${task.what}.prepare`);
  }
  const call = await operation.prepare([task, args], options);
  const { plans, dispose } = call;
  return {
    plans: plans.filter(isPass),
    dispose,
    run: (tensors, given) => {
      checkArguments(task.what, tensors);
      return asResults(task.reductions, call([task, tensors], given));
    },
  };
}

const preparedBlocks = (what: string): LazyError =>
  new LazyError(
    'UNSUPPORTED',
    `${what}.prepare: devices, maxBytes, onProgress and rows of a file cut rows into blocks, and a prepared call is one launch. Call ${what} itself with them; its kernels are remembered.`,
  );

/** Not that of a copy. */
const isPass = (plan: unknown): plan is MapReducePlan =>
  own(plan as Partial<MapReducePlan>, 'family').family === 'map-reduce';

const NO_VIEWS: { value: CallView | undefined; index: CallView | undefined } = {
  value: undefined,
  index: undefined,
};

const placeOf = (
  { stream, device, dtype }: ReductionOptions,
  outs: readonly (Tensor | undefined)[],
): Parameters<typeof pairCall>[3] => ({ stream, device, dtype, outs });

/** The tensors of a call by place; undefined for a call that has data of the host, and for one that the checks refuse. */
function tensorsOf({ inputs }: JointTask, args: readonly LazyData[]): Tensor[] | undefined {
  const tensors: Tensor[] = [];
  let bound = 0;
  for (const { source } of inputs) {
    if (source.kind === 'data') continue;
    if (source.kind === 'placeholder') bound = Math.max(bound, source.position + 1);
    // what is no tensor has no layout
    tensors.push(source.kind === 'tensor' ? source.tensor : (args[source.position] as Tensor));
  }
  return args.length > bound ? undefined : tensors;
}

function unplaced(what: string, one: Input): LazyError {
  return new LazyError(
    'INVALID_ARGUMENT',
    `${what}: ${describeInput(one)} is host data, which a prepared call cannot place. Pass a tensor, made once with tensor(data).`,
  );
}
