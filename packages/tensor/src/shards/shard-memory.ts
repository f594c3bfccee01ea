import type { Device } from '../device.js';
import { MercerError } from '../mercer-error.js';
import { availableBytes } from '../operations.js';
import { leastBytes, planShards, type ShardPlan, type ShardProblem } from './plan-shards.js';

/** Of what is free on the devices, unless the caller says how much. */
const SHARE = 0.75;

/**
 * The plan of a call within `maxBytes`, or within what is free on the devices.
 *
 * @throws MercerError INVALID_ARGUMENT for a `maxBytes` that is too little, OUT_OF_MEMORY
 */
export function shardsWithin(
  what: string,
  sizes: Omit<ShardProblem, 'maxBytes'>,
  devices: readonly Device[],
  given: number | undefined,
): ShardPlan {
  const maxBytes = given ?? budgetOf(devices);
  const plan = planShards({ ...sizes, maxBytes });
  if (plan !== undefined) return plan;
  const needed = `The least blocks of rows, with the results, take ${leastBytes(sizes)} bytes`;
  throw given === undefined
    ? new MercerError(
        'OUT_OF_MEMORY',
        `${what}: blocks may take ${maxBytes} bytes of what is free on the devices. ${needed}: dispose tensors, or pass out in host memory.`,
      )
    : new MercerError(
        'INVALID_ARGUMENT',
        `${what}: maxBytes is ${given}. ${needed}: pass as much, better some hundred MiB.`,
      );
}

/**
 * The memory that blocks may take on each device; a power of two, so that other programs' few bytes more or less do not change how rows are
 * cut, and with it the last bits of sums.
 */
function budgetOf(devices: readonly Device[]): number {
  const shares = devices.map(
    (one) => (SHARE * availableBytes(one)) / devices.filter((other) => other === one).length,
  );
  return 2 ** Math.floor(Math.log2(Math.max(1, ...[Math.min(...shares)])));
}
