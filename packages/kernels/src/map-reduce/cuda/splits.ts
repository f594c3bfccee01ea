/** Into how many parts the reduced rows may be cut on a GPU: few different numbers, as each has a kernel of its own. */
export const CUDA_SPLITS: readonly number[] = [
  1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64,
];

/** How blocks meet a device. */
interface Occupation {
  readonly multiprocessors: number;
  /** Blocks of a multiprocessor that run at a time. */
  readonly resident: number;
  /** Blocks that it takes to keep the units of a multiprocessor at work. */
  readonly least: number;
}

/**
 * The share of the device that `blocks` equal blocks keep at work. Where all run at once the busiest multiprocessor
 * decides, and fewer than `least` leave its units waiting; where some wait, the last ones end half a block late.
 */
export function splitEfficiency(
  blocks: number,
  { multiprocessors, resident, least }: Occupation,
): number {
  const even = blocks / multiprocessors;
  if (even <= 1) return even / least;
  const most = even > resident ? 0 : Math.ceil(even);
  return even / Math.max(most, even + 0.5, least);
}

/** The same where blocks end together: those that run at a time make waves. */
export function waveEfficiency(
  blocks: number,
  { multiprocessors, resident, least }: Occupation,
): number {
  const even = blocks / multiprocessors;
  const waves = Math.ceil(even / resident);
  return even / (waves > 1 ? waves * resident : Math.max(Math.ceil(even), least));
}
