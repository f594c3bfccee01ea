import { describeValue, own } from '@mercer/options';
import {
  dtypeBytes,
  isTensor,
  MercerError,
  type Device,
  type DeviceLike,
  type DType,
  type LoadOptions,
  type RowReader,
  type ShardOptions,
  type Stream,
  type Tensor,
} from '@mercer/tensor';
import {
  checkShardOptions,
  cutsRows,
  deviceOf,
  HeldBlocks,
  isRowReader,
  isTraced,
  progressOf,
  runSteps,
  shardsWithin,
  sizeOfShape,
  Workers,
  type Rows,
} from '@mercer/tensor/operation';
import type { PairwiseInput } from '../place.js';
import {
  checkDevices,
  MAX_PAIR_BYTES,
  MovedTensors,
  oneDevice,
  refuseBesideBlocks,
  type BlockWorker,
} from './blocked-call.js';
import { isHostOut, resultSink, type HostOut, type ResultSink } from './result-sink.js';
import { sideRows, type SideRows } from './side-rows.js';

/** A matrix whose rows and columns are computed block by block. */
export interface BlockedCall extends ShardOptions, LoadOptions {
  readonly what: string;
  readonly a: PairwiseInput | RowReader;
  /** Undefined where there is one input. */
  readonly b: PairwiseInput | RowReader | undefined;
  readonly out?: Tensor | HostOut | undefined;
  readonly device?: DeviceLike | undefined;
  readonly stream?: Stream | undefined;
  /** Tensors among the values of the call. */
  readonly parameters: readonly Tensor[];
  /** Computes one block, with the tensors of the call on its device, whose first row and column these are; the result goes to `out` if there is one. */
  readonly compute: (block: PairBlock) => Promise<Tensor>;
}

/** A block of rows and columns on a device. */
export interface PairBlock {
  readonly a: Tensor;
  /** Undefined where the call has one input and the block is all of it, or nothing. */
  readonly b: Tensor | undefined;
  /** As `parameters` of the call. */
  readonly parameters: readonly Tensor[];
  readonly first: readonly [row: number, column: number];
  readonly out: Tensor | undefined;
  readonly signal: AbortSignal;
}

/** Whether a call is computed block by block. What is no object of options is refused where they are read. */
export function isBlocked(inputs: readonly unknown[], options: unknown): boolean {
  if (inputs.some(isRowReader)) return true;
  if (typeof options !== 'object' || options === null) return false;
  if (cutsRows(options)) return true;
  try {
    const { out } = own(options as { readonly out?: unknown }, 'out');
    return typeof out === 'object' && out !== null && isHostOut(out) && !isTraced(out);
  } catch {
    return false; // a revoked Proxy
  }
}

/**
 * A matrix of all pairs of rows, block by block, on one device or on several. Blocks of inputs arrive on a stream of their own while the
 * block before is computed, and the one before that goes where the result is to go. Resolves when all of it is there, with `out` or a new tensor on
 * the first device.
 *
 * @throws MercerError, and what a device, a reader, a destination or the signal ends it with
 */
export async function computeBlocks(call: BlockedCall): Promise<unknown> {
  const { what, a, b, out, parameters, signal } = call;
  refuseBesideBlocks(what, [a, b, out, ...parameters], call.stream);
  const named = checkShardOptions(what, call);
  signal?.throwIfAborted();
  const tensors = [a, b, out, ...parameters].filter(isTensor);
  const dtype = tensors[0]?.dtype;
  const made: Tensor[] = [];
  try {
    const rows = sideRows(`${what}: a`, a, dtype, made);
    const columns = b === undefined ? rows : sideRows(`${what}: b`, b, dtype, made);
    const devices = named ?? [oneDevice(call.device, tensors)];
    checkDevices(what, [rows.tensor, columns.tensor, ...parameters], devices);
    const job: Job = { call, rows, columns, devices, home: devices[0] as Device };
    const form = await formOf(job);
    const sink = await resultSink(out, {
      ...form,
      what,
      signal,
      home: job.home,
      read: [rows.tensor, columns.tensor, ...parameters].filter((one) => one !== undefined),
    });
    try {
      await runBlocks(job, form, sink);
      return await sink.finish();
    } catch (error) {
      await sink.abandon();
      throw error;
    }
  } finally {
    for (const one of made) one.dispose();
  }
}

interface Job {
  readonly call: BlockedCall;
  readonly rows: SideRows;
  readonly columns: SideRows;
  readonly devices: readonly Device[];
  readonly home: Device;
}

interface Form {
  readonly shape: readonly number[];
  readonly dtype: DType;
}

/** Shape and dtype of the whole: of no rows nothing is computed, but everything is checked. */
async function formOf({ call, rows, columns, home }: Job): Promise<Form> {
  const { signal = new AbortController().signal, parameters, compute, b } = call;
  using stream = home.createStream();
  using held = new MovedTensors(home);
  const place = { device: home, stream, signal };
  using x = await rows.bring([0, 0], place);
  using y = b === undefined ? undefined : await columns.bring([0, 0], place);
  using none = await compute({
    a: x,
    b: y,
    parameters: await held.all(parameters, signal),
    first: [0, 0],
    out: undefined,
    signal,
  });
  const m = rows.shape.at(-2) ?? 0;
  const n = columns.shape.at(-2) ?? 0;
  return { shape: [...none.shape.slice(0, -2), m, n], dtype: none.dtype };
}

interface Step {
  readonly rows: Rows;
  readonly columns: Rows;
}

async function runBlocks(job: Job, form: Form, sink: ResultSink): Promise<void> {
  const { call, devices } = job;
  const { what, maxBytes, onProgress, signal: ended } = call;
  const plan = shardsWithin(what, sizesOf(job, form), devices, maxBytes);
  const shards = plan.kept.flatMap((rows) =>
    plan.runs.map(([first, count]) =>
      plan.reduced.slice(first, first + count).map((columns): Step => ({ rows, columns })),
    ),
  );
  const onDone = progressOf(plan.kept.length * plan.reduced.length, onProgress);
  const workers = new Workers(ended);
  await workers.run(devices, async (device, at) => {
    const own = shards.filter((_, shard) => deviceOf(shard, shards.length, devices.length) === at);
    await computeSteps(own.flat(), job, sink, {
      device,
      signal: workers.signal,
      onDone,
    });
  });
}

/** Sizes that decide how rows are cut. */
function sizesOf(
  { call: { out, parameters }, rows, columns, devices, home }: Job,
  { shape, dtype }: Form,
): Parameters<typeof shardsWithin>[1] {
  const width = dtypeBytes(dtype);
  const rowBytes = ({ shape: of }: SideRows): number =>
    width * sizeOfShape(of.slice(0, -2)) * (of.at(-1) ?? 0);
  const pair = width * sizeOfShape(shape.slice(0, -2));
  const whole = pair * (shape.at(-2) ?? 0) * (shape.at(-1) ?? 0);
  // Where kernels write the result itself, blocks of it take no memory beside.
  const lies = out === undefined ? home : isTensor(out) ? out.device : undefined;
  const isDirect = devices.every((one) => one === lies);
  return {
    rowsKept: shape.at(-2) ?? 0,
    rowsReduced: shape.at(-1) ?? 0,
    leastReduced: 1,
    bytesFixed:
      parameters.reduce((sum, one) => sum + one.bytes, 0) + (out === undefined ? whole : 0),
    bytesKept: rowBytes(rows),
    bytesReduced: rowBytes(columns),
    bytesPair: isDirect ? 0 : pair,
    bytesResults: 0,
    maxPairBytes: isDirect ? undefined : MAX_PAIR_BYTES,
  };
}

/** All blocks of one device: while one is computed, the next one's inputs arrive and the one before goes home. */
async function computeSteps(
  steps: readonly Step[],
  { call, rows, columns }: Job,
  sink: ResultSink,
  { device, signal, onDone }: BlockWorker,
): Promise<void> {
  if (steps.length === 0) return;
  using stream = device.createStream();
  using homeward = device.createStream();
  using moved = new MovedTensors(device);
  const parameters = await moved.all(call.parameters, signal);
  const held = new HeldBlocks<Tensor>((block) => {
    block.dispose();
  });
  const place = { device, stream, signal };
  const keys = ({ rows: [i], columns: [j] }: Step): readonly [string, string] => [`a${i}`, `b${j}`];
  let delivery = Promise.resolve();
  const compute = async (step: Step, [a, b]: readonly [Tensor, Tensor]): Promise<void> => {
    using room = sink.room(device, step.rows, step.columns);
    const first = [step.rows[0], step.columns[0]] as const;
    const block = await call.compute({ a, b, parameters, first, out: room, signal });
    if (room !== undefined) return;
    const before = delivery;
    delivery = (async () => {
      using one = block;
      await before;
      await sink.put(one, step.rows, step.columns, { stream: homeward, signal });
    })();
    delivery.catch(() => undefined);
    await before;
  };
  try {
    await runSteps(steps, {
      device,
      signal,
      onDone,
      compute,
      take: async (step) => {
        const [x, y] = keys(step);
        const both = [
          held.take(x, () => rows.bring(step.rows, place)),
          held.take(y, () => columns.bring(step.columns, place)),
        ];
        return (await Promise.all(both)) as [Tensor, Tensor];
      },
      release: async (step) => {
        for (const key of keys(step)) await held.release(key);
      },
    });
    await delivery;
  } finally {
    await Promise.allSettled([delivery]);
  }
}

/** @throws MercerError UNSUPPORTED where a call is prepared that is computed block by block */
export function refuseBlocks(
  what: string,
  inputs: readonly unknown[],
  options: object | undefined,
): void {
  if (!isBlocked(inputs, options)) return;
  const given = Object.entries(options ?? {})
    .filter(([name]) => ['devices', 'maxBytes', 'onProgress', 'out'].includes(name))
    .map(([name, value]) => `${name} is ${describeValue(value)}`);
  throw new MercerError(
    'UNSUPPORTED',
    `${what}.prepare: ${given.join(', ') || 'rows are those of a file'}. That cuts rows into blocks, and a prepared call is one launch. Call ${what} itself, which remembers its kernels.`,
  );
}
