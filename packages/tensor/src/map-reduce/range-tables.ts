import {
  pairsInRanges,
  planRanges,
  planTasks,
  type KeptRanges,
  type MapReducePlan,
  type MapReduceProblem,
  type RowRange,
} from '@mercer/kernels';
import { tensor } from '../create.js';
import type { Device, WorkOptions } from '../device.js';
import type { LoadedPart } from '../operation/call-steps.js';
import { isTensor, type Tensor } from '../tensor.js';

/** Ranges of the reduced side as rows [start, end) of a table (spans, 2) on a device. */
export type SpanTable = Tensor<'int64'>;

/** Ranges of a call: those that are met are a list, or a table on a device. */
export type CallRanges = KeptRanges<readonly RowRange[] | SpanTable>;

/** Ranges of a call over pairs of rows, and how many rows both sides have. */
export interface RangesCall {
  readonly ranges: CallRanges;
  readonly keptRows: number;
  readonly reducedRows: number;
}

/** What is known of the spans of a table. */
interface KnownSpans {
  /** No span ends beyond. */
  readonly reducedRows: number;
  /** Pairs of a kept row and one that it meets. */
  readonly pairs: number;
}

/** What was said of a table, and how often it had been written then: it holds until the next write. */
const known = new WeakMap<SpanTable, KnownSpans & { readonly writes: number }>();

/**
 * Says that the spans of a table ascend within each slice, do not overlap and end within so many rows. A table of which nobody says so
 * is read back and checked before kernels follow it.
 */
export function vouchForSpans(spans: SpanTable, about: KnownSpans): void {
  known.set(spans, { ...about, writes: spans.storage.writes });
}

/** What is known of a table as it is now. */
function knownOf(spans: SpanTable): KnownSpans | undefined {
  const found = known.get(spans);
  return found?.writes === spans.storage.writes ? found : undefined;
}

const isTable = (met: CallRanges['redrangesJ']): met is SpanTable => isTensor(met);

/** How many pairs ranges hold; undefined where a table does not tell. */
export function pairsOfRanges(ranges: CallRanges): number | undefined {
  const { redrangesJ: met } = ranges;
  return isTable(met) ? knownOf(met)?.pairs : pairsInRanges({ ...ranges, redrangesJ: met });
}

const ROWS = [32, 64, 128] as const;
/** Beyond so many rows a block of a GPU is filled by a range as it is by all rows. */
const MANY_ROWS = 192;

/** What a GPU's plan is told of the length of ranges: the least of its sizes that the mean range fits into. */
export function rangeRowsOf(
  { kind }: Pick<Device, 'kind'>,
  { rangesI }: CallRanges,
): MapReduceProblem['rangeRows'] {
  if (kind !== 'cuda' || rangesI.length === 0) return undefined;
  const rows = rangesI.reduce((sum, [start, end]) => sum + end - start, 0) / rangesI.length;
  return rows > MANY_ROWS ? undefined : (ROWS.find((most) => rows <= most) ?? 128);
}

/**
 * Places ranges where the kernels of a plan look for them. The tensors are pushed to `made`, whose owner disposes them; a table that was
 * given is held by a handle of its own.
 *
 * @throws PlanError for ranges that do not fit the rows; the signal's reason
 */
export async function rangeTables(
  plan: MapReducePlan,
  { ranges, keptRows, reducedRows }: RangesCall,
  device: Device,
  { stream, signal }: WorkOptions,
  made: Tensor[],
): Promise<Pick<LoadedPart, 'tables' | 'scalars'>> {
  const upload = async (data: BigInt64Array): Promise<Tensor> => {
    const placed = await tensor(data, { device, stream, signal });
    made.push(placed);
    return placed;
  };
  const { redrangesJ: met } = ranges;
  if (isTable(met) && isRight(met, reducedRows, device)) {
    const { tasks, taskCount } = planTasks(plan, ranges, keptRows, met.shape[0] ?? 0);
    // A handle of its own: the caller may dispose of theirs while a prepared call still follows it.
    const spans = met.view();
    made.push(spans);
    return { tables: { tasks: await upload(tasks), spans }, scalars: { taskCount } };
  }
  const redrangesJ = isTable(met) ? await listOfSpans(met, { stream, signal }) : met;
  const { tasks, spans, taskCount } = planRanges(
    plan,
    { ...ranges, redrangesJ },
    keptRows,
    reducedRows,
  );
  return {
    tables: { tasks: await upload(tasks), spans: await upload(spans) },
    scalars: { taskCount },
  };
}

const isRight = (spans: SpanTable, reducedRows: number, device: Device): boolean =>
  (knownOf(spans)?.reducedRows ?? Infinity) <= reducedRows &&
  spans.device === device &&
  spans.isContiguous;

/** The spans of a table, read back. */
export async function listOfSpans(
  spans: SpanTable,
  { stream, signal }: WorkOptions,
): Promise<readonly RowRange[]> {
  const words = await spans.toTypedArray({ stream, signal });
  return Array.from({ length: words.length / 2 }, (_, at): RowRange => [
    Number(words[2 * at]),
    Number(words[2 * at + 1]),
  ]);
}
