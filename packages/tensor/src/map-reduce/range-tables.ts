import { planRanges, type KeptRanges, type MapReducePlan } from '@mercer/kernels';
import { tensor } from '../create.js';
import type { Device, WorkOptions } from '../device.js';
import type { LoadedPart } from '../operation/call-steps.js';
import type { Tensor } from '../tensor.js';

/** Ranges of a call over pairs of rows, and how many rows both sides have. */
export interface RangesCall {
  readonly ranges: KeptRanges;
  readonly keptRows: number;
  readonly reducedRows: number;
}

/**
 * Places ranges where the kernels of a plan look for them. The tensors are pushed to `made`, whose owner disposes them.
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
  const { tasks, spans, taskCount } = planRanges(plan, ranges, keptRows, reducedRows);
  const upload = async (data: BigInt64Array): Promise<Tensor> => {
    const placed = await tensor(data, { device, stream, signal });
    made.push(placed);
    return placed;
  };
  return {
    tables: { tasks: await upload(tasks), spans: await upload(spans) },
    scalars: { taskCount },
  };
}
