import { own } from '@mercer/options';
import {
  dtypeBytes,
  isTensor,
  MercerError,
  type Device,
  type DType,
  type Tensor,
} from '@mercer/tensor';
import {
  checkShardOptions,
  cutsRows,
  formatShape,
  isRowReader,
  isTraced,
  sizeOfShape,
} from '@mercer/tensor/operation';
import type { GradientsByLabel } from '../gradients-by-label.js';
import type { BlockedBackward } from './blocked-backward.js';
import { checkDevices, MAX_PAIR_BYTES, oneDevice, refuseBesideBlocks } from './blocked-call.js';
import { isBlocked } from './compute-blocks.js';
import { gradientResults, type GradientForm } from './gradient-results.js';
import { GroupSums } from './group-sums.js';
import { pairValues, type PairValues } from './pair-values.js';
import {
  ofNothing,
  readPairs,
  readRowsOf,
  runBlocks,
  type BlockCut,
  type DeviceWork,
} from './run-blocks.js';
import { sideRows, type SideRows } from './side-rows.js';

interface Job {
  readonly call: BlockedBackward;
  readonly gradient: PairValues;
  readonly rows: SideRows;
  readonly columns: SideRows;
  readonly devices: readonly Device[];
  /** What a block is differentiated by: of one matrix both of its roles. */
  readonly wrt: readonly string[];
}

/** Whether gradients are computed block by block. What is no object of options is refused where they are read. */
export function isBlockedBackward(inputs: readonly unknown[], options: unknown): boolean {
  if (inputs.some(isHostData)) return true;
  if (typeof options !== 'object' || options === null) return false;
  if (cutsRows(options)) return true;
  try {
    const { out } = own(options as { readonly out?: unknown }, 'out');
    if (typeof out !== 'object' || out === null || isTensor(out)) return false;
    return Object.values(out).some((one) => isBlocked([], { out: one as unknown }));
  } catch {
    return false; // a revoked Proxy
  }
}

/** Whether an input is data that a tensor can be made from, or rows of a file. */
function isHostData(input: unknown): boolean {
  if (Array.isArray(input) || ArrayBuffer.isView(input)) return true;
  if (typeof input !== 'object' || input === null || isTensor(input)) return false;
  return isRowReader(input) || ('data' in input && 'shape' in input && !isTraced(input));
}

/**
 * Gradients block by block, on one device or on several. Each block of the upstream gradient is read once. What blocks give is added up in
 * float64, in an order that the number of devices does not change, and `out` is written at the end.
 *
 * @throws MercerError, and what a device, a reader, a destination or the signal ends it with
 */
export async function gradientsInBlocks(
  call: BlockedBackward,
): Promise<Readonly<Record<string, unknown>>> {
  const { what, gradient, a, b, out, parameters, signal, wrt, stream } = call;
  refuseBesideBlocks(what, [gradient, a, b, ...parameters, ...Object.values(out ?? {})], stream);
  const named = checkShardOptions(what, call);
  signal?.throwIfAborted();
  const inputs = [gradient, a, b, ...parameters];
  const tensors = inputs.filter(isTensor);
  const dtype = tensors[0]?.dtype;
  const made: Tensor[] = [];
  try {
    const rows = sideRows(`${what}: a`, a, dtype, made);
    const columns = b === undefined ? rows : sideRows(`${what}: b`, b, dtype, made);
    const pairs = pairValues(`${what}: gradient`, gradient, dtype, made);
    const outs = Object.values(out ?? {}).filter(isTensor);
    const devices = named ?? [oneDevice(undefined, [...tensors, ...outs])];
    const read = [pairs.tensor, rows.tensor, columns.tensor, ...parameters];
    checkDevices(what, read, devices);
    checkUpstreamShape(what, pairs, rows, columns);
    const both = b === undefined && wrt.includes('a') ? [...wrt, 'b'] : wrt;
    const job: Job = { call, gradient: pairs, rows, columns, devices, wrt: both };
    const reads = {
      gradient: readPairs(pairs),
      a: readRowsOf('rows', rows),
      b: readRowsOf('columns', columns),
    };
    const blocked = { call, devices, reads };
    const form = await ofNothing(blocked, async ({ inputs: none, ...given }) => {
      const found = await call.compute({ ...none, ...given, first: [0, 0], wrt: both });
      return formOf(job, found, none.a.dtype);
    });
    const results = await gradientResults(call, {
      ...form,
      home: devices[0] as Device,
      read: read.filter((one) => one !== undefined),
    });
    const [m = 0, n = 0] = pairs.shape.slice(-2);
    // The rows of a file are read in their order, once.
    const byRows = pairs.isRead || m >= n;
    const cut = { byRows, sizes: sizesOf(job, byRows), groups: GROUPS };
    const addUp: DeviceWork<keyof typeof reads> = async (_, run) => {
      using sums = new GroupSums();
      await run(async ({ rows: [i], columns: [j], group, isLast }, { inputs, ...given }) => {
        const found = await call.compute({ ...inputs, ...given, first: [i, j], wrt: both });
        await sums.add(found, { a: i, b: j });
        if (isLast) await results.add(group, await sums.take());
      });
    };
    return await runBlocks(blocked, cut, addUp, results);
  } finally {
    for (const one of made) one.dispose();
  }
}

/** @throws MercerError SHAPE_MISMATCH; batch axes are those of the call, which the operation checks */
function checkUpstreamShape(
  what: string,
  gradient: PairValues,
  rows: SideRows,
  columns: SideRows,
): void {
  const wanted = [rows.shape.at(-2) ?? 0, columns.shape.at(-2) ?? 0];
  const { shape } = gradient;
  const isRank = shape.length === Math.max(rows.shape.length, columns.shape.length);
  if (isRank && String(shape.slice(-2)) === String(wanted)) return;
  throw new MercerError(
    'SHAPE_MISMATCH',
    `${what}: the gradient has shape ${formatShape(shape)}, and a and b have ${wanted.join(' and ')} rows. Pass the gradient of the loss with respect to the result, ${formatShape(['...', ...wanted] as never)}.`,
  );
}

/** What gradients look like, of those of no rows, which are given up. */
function formOf({ rows, columns }: Job, found: GradientsByLabel, dtype: DType): GradientForm {
  const shapes = Object.entries(found).map(([label, one]): [string, readonly number[]] => {
    const side = { a: rows, b: columns }[label];
    return [label, side?.shape ?? one?.shape ?? []];
  });
  for (const one of Object.values(found)) one?.dispose();
  return { shapes: new Map(shapes), dtype };
}

/** How many parts of the shards are added up apart, each on one device. */
const GROUPS = 8;

/** Sizes that decide how rows are cut. What lies on a device counts too, so that the number of devices changes nothing. */
function sizesOf(
  { call: { parameters }, gradient, rows, columns, wrt, devices }: Job,
  byRows: boolean,
): BlockCut['sizes'] {
  const width = dtypeBytes((rows.tensor ?? gradient.tensor)?.dtype ?? 'float64');
  const entries = ({ shape: of }: SideRows): number =>
    sizeOfShape(of.slice(0, -2)) * (of.at(-1) ?? 0);
  const pairs = width * sizeOfShape(gradient.shape.slice(0, -2));
  const [kept, reduced] = byRows ? [rows, columns] : [columns, rows];
  const [keptLabel, reducedLabel] = byRows ? ['a', 'b'] : ['b', 'a'];
  // Sums in float64; results take as much or half of it.
  const sums = (label: string, side: SideRows): number =>
    wrt.includes(label) ? entries(side) * dtypeBytes('float64') : 0;
  const [rowsKept, rowsReduced] = [kept.shape.at(-2) ?? 0, reduced.shape.at(-2) ?? 0];
  // Sums over many features are stored beside on a GPU.
  const isStored = devices.some(({ kind }) => kind !== 'cpu') && (rows.shape.at(-1) ?? 0) > 14;
  return {
    rowsKept,
    rowsReduced,
    leastReduced: 1,
    bytesFixed:
      parameters.reduce((sum, one) => sum + one.bytes, 0) +
      rowsReduced * sums(reducedLabel, reduced) +
      rowsKept * sums(keptLabel, kept) +
      rowsReduced * sums(reducedLabel, reduced) +
      Math.ceil(rowsKept / GROUPS) * sums(keptLabel, kept),
    bytesKept: width * entries(kept),
    bytesReduced: width * entries(reduced) + sums(reducedLabel, reduced),
    bytesPair: isStored ? 2 * pairs : pairs,
    bytesResults: 2 * sums(keptLabel, kept),
    maxPairBytes: MAX_PAIR_BYTES,
  };
}
