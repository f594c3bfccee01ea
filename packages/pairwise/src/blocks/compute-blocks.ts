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
  isRowReader,
  isTraced,
  sizeOfShape,
} from '@mercer/tensor/operation';
import type { PairwiseInput } from '../place.js';
import { checkDevices, MAX_PAIR_BYTES, oneDevice, refuseBesideBlocks } from './blocked-call.js';
import { isHostOut, resultSink, type HostOut, type ResultSink } from './result-sink.js';
import { ofNothing, readRowsOf, runBlocks, type BlockCut, type DeviceWork } from './run-blocks.js';
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
    const read = [rows.tensor, columns.tensor, ...parameters];
    checkDevices(what, read, devices);
    const reads = { a: readRowsOf('rows', rows), b: readRowsOf('columns', columns) };
    const job = { call, devices, reads };
    const form = await ofNothing(job, async ({ inputs, ...given }) => {
      const of = { ...inputs, b: b === undefined ? undefined : inputs.b };
      using block = await call.compute({ ...of, ...given, first: [0, 0], out: undefined });
      const sides = [rows, columns].map(({ shape }) => shape.at(-2) ?? 0);
      return { shape: [...block.shape.slice(0, -2), ...sides], dtype: block.dtype };
    });
    const home = devices[0] as Device;
    const sink = await resultSink(out, {
      ...form,
      what,
      signal,
      home,
      read: read.filter((one) => one !== undefined),
    });
    const sizes = sizesOf(call, rows, columns, devices, form);
    return await runBlocks(job, { sizes, byRows: true }, sentHome(call, sink), sink);
  } finally {
    for (const one of made) one.dispose();
  }
}

/** Shape and dtype of the whole. */
interface Form {
  readonly shape: readonly number[];
  readonly dtype: DType;
}

/** Sizes that decide how rows are cut. */
function sizesOf(
  { out, parameters }: BlockedCall,
  rows: SideRows,
  columns: SideRows,
  devices: readonly Device[],
  { shape, dtype }: Form,
): BlockCut['sizes'] {
  const width = dtypeBytes(dtype);
  const rowBytes = ({ shape: of }: SideRows): number =>
    width * sizeOfShape(of.slice(0, -2)) * (of.at(-1) ?? 0);
  const pair = width * sizeOfShape(shape.slice(0, -2));
  const whole = pair * (shape.at(-2) ?? 0) * (shape.at(-1) ?? 0);
  // Where kernels write the result itself, blocks of it take no memory beside.
  const lies = out === undefined ? devices[0] : isTensor(out) ? out.device : undefined;
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

/** The blocks of a device go home while the next ones are computed. */
const sentHome =
  (call: BlockedCall, sink: ResultSink): DeviceWork<'a' | 'b'> =>
  async (device, run) => {
    using homeward = device.createStream();
    let delivery = Promise.resolve();
    try {
      await run(async ({ rows, columns }, { inputs, ...given }) => {
        using room = sink.room(device, rows, columns);
        const first = [rows[0], columns[0]] as const;
        const block = await call.compute({ ...inputs, ...given, first, out: room });
        if (room !== undefined) return;
        const before = delivery;
        delivery = (async () => {
          using one = block;
          await before;
          await sink.put(one, rows, columns, { stream: homeward, signal: given.signal });
        })();
        delivery.catch(() => undefined);
        await before;
      });
      await delivery;
    } finally {
      await Promise.allSettled([delivery]);
    }
  };

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
