import { substituteVector, type Steps } from '@mercer/formula/plan';
import type { KeptRanges } from '@mercer/kernels';
import { dtypeBytes, tensor, type Device, type Tensor } from '@mercer/tensor';
import {
  checkShardOptions,
  deviceOf,
  inSlices,
  progressOf,
  runSteps,
  shardsWithin,
  sidesOf,
  Workers,
  type Rows,
  type ShardPlan,
} from '@mercer/tensor/operation';
import { WHOLE_UP_TO, type LazyDType } from '../lazy-dtype.js';
import { pairCall } from '../pair-call.js';
import { keptRanges } from '../ranges-option.js';
import { checkRows } from '../results.js';
import {
  checkMask,
  checkOuts,
  partFor,
  readOuts,
  WHAT,
  type NonzeroOptions,
  type SelectedPairs,
  type SelectedPairsOut,
} from '../selected-pairs.js';
import type { Merged } from '../symbolic.js';
import { usedBy } from '../task.js';
import { BlockInputs } from './block-inputs.js';
import { numbered } from './cell-task.js';
import { stepsOf } from './compute-shards.js';
import { cutRanges, listedRanges } from './cut-ranges.js';
import { written } from './run-shards.js';
import {
  checkInputs,
  held,
  inputBytes,
  oneDevice,
  refuseBeside,
  tensorsOf,
  withLayouts,
} from './sharded-inputs.js';

type PairsOptions = Omit<NonzeroOptions, 'values'>;

/** Finds pairs among rows that are not cut. */
type FindPairs = (of: Merged, axis: 0 | 1, options: PairsOptions) => Promise<SelectedPairs>;

/** The pairs of a cell, in host memory: offsets by batch entry and row of the cell, and the numbers of its rows. */
interface CellPairs {
  readonly offsets: BigInt64Array;
  readonly indices: Int32Array;
  readonly values: { readonly data: Float32Array | Float64Array; readonly dim: number } | undefined;
}

/**
 * The pairs at which a mask is not 0, found block by block, on one device or on several. How many there will be is not known before, so those of a cell go to host
 * memory, and are put together there: the pairs of a row in the order of the blocks, and rows in theirs. So they are the same whatever the blocks are.
 *
 * @throws LazyError, MercerError; what a device or the signal ends it with. Tensors given as `out` are as they were then
 */
export async function shardedPairs(
  { formulas, inputs: bound }: Merged,
  axis: 0 | 1,
  options: PairsOptions,
  find: FindPairs,
): Promise<SelectedPairs> {
  const { signal, debug } = options;
  const named = checkShardOptions(WHAT, options);
  refuseBeside(WHAT, options);
  checkMask(formulas[0]?.dim ?? 0);
  const outs = readOuts(options.out, formulas[1]);
  const used = usedBy(formulas);
  const devices = named ?? [oneDevice(bound, options, Object.values(outs) as Tensor[])];
  const home = devices[0] as Device;
  const anywhere = bound.map((one) => ({ ...one, device: undefined }));
  const place = { outs: [], stream: undefined, device: home, dtype: options.dtype };
  const call = pairCall(WHAT, formulas, anywhere, place);
  checkInputs(WHAT, bound, used, devices);
  checkRows(WHAT, { axis }, call);
  const { sizes } = call;
  const { dtype, batch } = sizes;
  const { keptRows, reducedRows } = sidesOf({ axis }, sizes);
  const valueDim = formulas[1]?.dim ?? 0;
  const toHost = ({ device }: Tensor): Device => (device.kind === 'cpu' ? device : home);
  const rows = batch * keptRows;
  checkOuts(outs, { rows, sizes, deviceOf: toHost, valueDim }, tensorsOf(bound, used));
  signal?.throwIfAborted();
  const ranges =
    options.ranges &&
    (await listedRanges(
      WHAT,
      keptRanges(WHAT, { axis }, options.ranges),
      { keptRows, reducedRows },
      options,
    ));
  const made: Tensor[] = [];
  try {
    const inputs = await withLayouts(held(bound, made), used, dtype, made);
    const bytes = inputBytes(inputs, used, dtype);
    const [kept, reduced] = axis === 1 ? (['i', 'j'] as const) : (['j', 'i'] as const);
    const width = dtypeBytes(dtype);
    const plan = shardsWithin(
      WHAT,
      {
        rowsKept: keptRows,
        rowsReduced: reducedRows,
        leastReduced: 1,
        mostReduced: WHOLE_UP_TO[dtype],
        bytesFixed: bytes.parameter,
        bytesKept: bytes[kept],
        bytesReduced: bytes[reduced],
        // at worst each pair is found
        bytesPair: bytes.pair + batch * (dtypeBytes('int32') + valueDim * width),
        maxPairBytes: Number.MAX_SAFE_INTEGER,
        // counts, the same as whole numbers, and their sums
        bytesResults: batch * (width + 2 * dtypeBytes('int64')),
      },
      devices,
      options.maxBytes,
    );
    const ofCells = await cellsOf(plan, { formulas, inputs }, axis, {
      ...options,
      devices,
      find: (of, cell) => find(of, axis, { ...cell, dtype, debug, signal }),
      dtype,
      used,
      ranges,
    });
    const whole = await inSlices(
      assembled(plan, ofCells, { batch, keptRows, valueDim, dtype }),
      signal,
    );
    return await delivered(whole, home, outs, signal);
  } finally {
    for (const one of made) one.dispose();
  }
}

/** How cells are computed. */
interface CellsWork extends Pick<PairsOptions, 'signal' | 'onProgress'> {
  readonly devices: readonly Device[];
  readonly find: (
    of: Merged,
    options: Pick<PairsOptions, 'device' | 'ranges'>,
  ) => Promise<SelectedPairs>;
  readonly dtype: LazyDType;
  readonly used: ReadonlySet<number>;
  /** Which rows meet; all, where there are none. */
  readonly ranges: KeptRanges | undefined;
}

/** The pairs of all cells, by kept and reduced block; each device computes its own shards, one cell after the other. */
async function cellsOf(
  { kept, reduced, runs }: ShardPlan,
  { formulas, inputs }: Merged,
  axis: 0 | 1,
  { devices, find, dtype, used, ranges, signal: ended, onProgress }: CellsWork,
): Promise<readonly (readonly CellPairs[])[]> {
  const workers = new Workers(ended);
  const { signal } = workers;
  const { parts, inputs: inputsOf } = numbered(WHAT, formulas, inputs.length);
  const ofCell = formulas.map((one) => substituteVector(one, parts));
  const shards = kept.flatMap((rows, at) =>
    runs.map(([first, count], run) => {
      return { at, run, kept: rows, reduced: reduced.slice(first, first + count) };
    }),
  );
  const found = kept.map((): CellPairs[] => []);
  const onDone = progressOf(kept.length * reduced.length, onProgress);
  await workers.run(devices, async (device, worker) => {
    using stream = device.createStream();
    const blocks = new BlockInputs(inputs, used, { device, stream, dtype });
    const own = shards.filter((_, at) => deviceOf(at, shards.length, devices.length) === worker);
    await runSteps(
      own.flatMap((shard) => stepsOf(shard, axis)),
      {
        device,
        signal,
        take: ({ cell }) => blocks.take(cell, signal),
        release: ({ cell }) => blocks.release(cell),
        compute: async ({ shard, reduced: rows, cell }, arrived) => {
          const of = { formulas: ofCell, inputs: inputsOf(cell, arrived) };
          const cut = ranges && cutRanges(ranges, axis, shard.kept, rows);
          const pairs = await find(of, { device, ranges: cut });
          (found[shard.at] as CellPairs[])[reduced.indexOf(rows)] = await toHost(pairs, signal);
        },
        onDone,
      },
    );
  });
  return found;
}

/** The pairs of a cell in host memory; they are taken over. */
async function toHost(
  { offsets, indices, values }: SelectedPairs,
  signal: AbortSignal,
): Promise<CellPairs> {
  using ends = offsets;
  using numbers = indices;
  using others = values;
  return {
    offsets: await ends.toTypedArray({ signal }),
    indices: await numbers.toTypedArray({ signal }),
    values: others && {
      data: await others.toTypedArray({ signal }),
      dim: others.shape[1] ?? 0,
    },
  };
}

/** Rows of cells that are put in their place between two looks at the clock. */
const ROWS_A_STEP = 1024;

/** The pairs of cells as those of all rows, which are numbered from the first row of all. */
function* assembled(
  { kept, reduced }: ShardPlan,
  found: readonly (readonly CellPairs[])[],
  {
    batch,
    keptRows,
    valueDim,
    dtype,
  }: {
    readonly batch: number;
    readonly keptRows: number;
    readonly valueDim: number;
    readonly dtype: LazyDType;
  },
): Steps<CellPairs> {
  const offsets = new BigInt64Array(batch * keptRows + 1);
  const count = found.flat().reduce((sum, { indices }) => sum + indices.length, 0);
  const indices = new Int32Array(count);
  const Values = dtype === 'float32' ? Float32Array : Float64Array;
  const values = valueDim > 0 ? { data: new Values(count * valueDim), dim: valueDim } : undefined;
  let [place, steps] = [0, 0];
  for (let entry = 0; entry < batch; entry++) {
    for (const [at, [first, rows]] of kept.entries()) {
      for (let row = 0; row < rows; row++) {
        const before = entry * rows + row;
        for (const [block, cell] of (found[at] ?? []).entries()) {
          const from = Number(cell.offsets[before]);
          const until = Number(cell.offsets[before + 1]);
          const [start] = reduced[block] as Rows;
          for (let pair = from; pair < until; pair++) {
            indices[place + pair - from] = (cell.indices[pair] as number) + start;
          }
          if (cell.values !== undefined && until > from) {
            const own = cell.values.data.subarray(from * valueDim, until * valueDim);
            values?.data.set(own, place * valueDim);
          }
          place += until - from;
        }
        offsets[entry * keptRows + first + row + 1] = BigInt(place);
        if (++steps % ROWS_A_STEP === 0) yield;
      }
    }
  }
  return { offsets, indices, values };
}

/** The pairs where they belong: in what the caller gave, or on the first device. */
async function delivered(
  { offsets, indices, values }: CellPairs,
  home: Device,
  outs: SelectedPairsOut,
  signal: AbortSignal | undefined,
): Promise<SelectedPairs> {
  const count = indices.length;
  const into = [
    outs.offsets,
    partFor('indices', outs.indices, count),
    partFor('values', outs.values, count),
  ];
  const parts = [offsets, indices, ...(values === undefined ? [] : [values.data])];
  const made: Tensor[] = [];
  try {
    for (const [at, data] of parts.entries()) {
      const shape = at === 2 ? [count, values?.dim ?? 0] : [data.length];
      made.push(await tensor(data, { shape, device: into[at]?.device ?? home, signal }));
    }
  } catch (error) {
    for (const one of made) one.dispose();
    throw error;
  }
  const [ends, numbers, others] = await Promise.all(made.map((one, at) => written(one, into[at])));
  return {
    offsets: ends as Tensor<'int64'>,
    indices: numbers as Tensor<'int32'>,
    ...(others !== undefined && { values: others as Tensor<LazyDType> }),
  };
}
