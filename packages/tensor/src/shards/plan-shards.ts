/** Rows of a side, as [first, count]. */
export type Rows = readonly [first: number, count: number];

/** A reduction whose rows are cut into blocks. Bytes are those of a device. */
export interface ShardProblem {
  readonly rowsKept: number;
  readonly rowsReduced: number;
  /** Fewest rows of the reduced side of a block: lists of K extrema are full then. */
  readonly leastReduced: number;
  /** Most of them, if fewer than 31 bits count. */
  readonly mostReduced?: number | undefined;
  /** Of what is there all the time: parameters and tables. */
  readonly bytesFixed: number;
  /** Of the inputs that follow the kept side, for each of its rows. */
  readonly bytesKept: number;
  /** Of the inputs that follow the reduced side, for each of its rows. */
  readonly bytesReduced: number;
  /** Of values of pairs, for each pair. */
  readonly bytesPair: number;
  /** Of results and what is carried from block to block, for each row of the kept side. */
  readonly bytesResults: number;
  /**
   * Where values of pairs are the results: most bytes of those of a cell, which travel at a time. Blocks of the kept side are not single rows
   * then as long as it can be helped.
   */
  readonly maxPairBytes?: number | undefined;
  /** Most memory of each device. */
  readonly maxBytes: number;
}

/**
 * How rows are cut: a cell is a block of the kept side and one of the reduced side. The cells of a kept block are merged in their order, run
 * by run, and then the runs. A shard is one kept block and one run, and is computed on one device.
 */
export interface ShardPlan {
  readonly kept: readonly Rows[];
  readonly reduced: readonly Rows[];
  /** Of the reduced blocks, as [first, count]. */
  readonly runs: readonly Rows[];
}

/** Shards there are where there are rows enough: 1, 2, 4 and 8 devices get equal shares. */
const SHARDS = 8;
/** Fewer rows of either side are not worth a shard of their own. */
const LEAST_ROWS = 1024;
/** Most rows of a block of the reduced side: kernels count its rows in 31 bits. */
const MOST_ROWS = 2 ** 30;
/** Blocks of a side, and the last one alone is shorter, have a multiple of this many rows, so that they all lie alike. */
const MULTIPLE = 64;

/**
 * Blocks that fit. The numbers of rows and the memory decide, never the number of devices, so that any number of them computes and merges
 * the same cells in the same order.
 *
 * A device holds one kept block and half of the next, with their results, and two reduced blocks: one arrives while the other one is
 * computed with. Where one side fits into half of the memory it is not cut for its sake.
 *
 * @returns undefined where not even the least blocks fit
 */
export function planShards(problem: ShardProblem): ShardPlan | undefined {
  const { rowsKept, rowsReduced, leastReduced } = problem;
  if (leastBytes(problem) > problem.maxBytes) return undefined;
  const least = mostOfLeast(leastReduced);
  const { maxPairBytes = Infinity, mostReduced: counted = MOST_ROWS } = problem;
  const fits = (kept: number, reduced: number): boolean =>
    bytesOf(problem, kept, reduced) <= problem.maxBytes &&
    kept * reduced * problem.bytesPair <= maxPairBytes;
  const some = maxPairBytes === Infinity ? 1 : Math.max(1, Math.min(rowsKept, LEAST_ROWS));
  const half = (problem.maxBytes - problem.bytesFixed) / 2;
  const mostReduced = Math.min(rowsReduced, Math.max(Math.min(MOST_ROWS, counted), least));
  const reducedHalf = largest(
    mostReduced,
    least,
    (rows) => sideBytes(problem, 'reduced', rows) <= half && fits(some, rows),
  );
  const keptFits = largest(rowsKept, 1, (rows) => fits(rows, reducedHalf));
  const reducedFits = largest(mostReduced, least, (rows) => fits(keptFits, rows));
  const keptShards = Math.min(SHARDS, Math.max(1, Math.floor(rowsKept / LEAST_ROWS)));
  const kept = blocksOf(rowsKept, keptFits, keptShards, 1);
  const wanted = Math.ceil(SHARDS / kept.length);
  const runsWanted = Math.min(wanted, Math.max(1, Math.floor(rowsReduced / LEAST_ROWS)));
  const reduced = blocksOf(rowsReduced, reducedFits, runsWanted, Math.max(1, leastReduced));
  return { kept, reduced, runs: dealt(reduced.length, Math.min(runsWanted, reduced.length)) };
}

/** The least `maxBytes` that the problem can be planned with. */
export function leastBytes(problem: Omit<ShardProblem, 'maxBytes'>): number {
  const { rowsKept, rowsReduced, leastReduced } = problem;
  const least = Math.min(rowsReduced, mostOfLeast(leastReduced));
  return bytesOf(problem, Math.min(rowsKept, 1), least);
}

/** Rows of the longest block that cannot be cut into two with so many. */
const mostOfLeast = (least: number): number => Math.max(1, 2 * least - 1);

/** The number of the device, of `devices` in all, that computes a shard of `shards`: neighbours, as evenly as can be. */
export const deviceOf = (shard: number, shards: number, devices: number): number =>
  Math.floor((shard * devices) / shards);

type Sizes = Omit<ShardProblem, 'maxBytes'>;

function bytesOf(problem: Sizes, kept: number, reduced: number): number {
  const sides = sideBytes(problem, 'kept', kept) + sideBytes(problem, 'reduced', reduced);
  return problem.bytesFixed + sides + 2 * kept * reduced * problem.bytesPair;
}

function sideBytes(problem: Sizes, side: 'kept' | 'reduced', rows: number): number {
  return side === 'kept'
    ? rows * (2 * problem.bytesKept + problem.bytesResults)
    : 2 * rows * problem.bytesReduced;
}

/** The largest number of rows from `least` to `most` that passes, or `least`; all below one that passes do. */
function largest(most: number, least: number, passes: (rows: number) => boolean): number {
  let [low, high] = [Math.min(least, most), most];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (passes(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** At least `wanted` blocks of at most `most` rows and at least `least`, of equal size but for rounding; one of no rows. */
function blocksOf(rows: number, most: number, wanted: number, least: number): readonly Rows[] {
  if (rows === 0) return [[0, 0]];
  const count = Math.max(wanted, Math.ceil(rows / most));
  const even = Math.ceil(rows / count);
  const round = MULTIPLE * Math.ceil(even / MULTIPLE);
  const size = Math.max(Math.min(round <= most ? round : even, rows), least);
  const blocks: Rows[] = [];
  for (let first = 0; first < rows;) {
    const rest = rows - first;
    // What is left would be a block that is too short: two are cut evenly, or are one.
    const short = rest > size && rest - size < least;
    const taken = short ? (rest - least >= least ? rest - least : rest) : Math.min(size, rest);
    blocks.push([first, taken]);
    first += taken;
  }
  return blocks;
}

/** `count` numbers in `parts` runs that differ by one at most. */
const dealt = (count: number, parts: number): readonly Rows[] =>
  Array.from({ length: parts }, (_, at): Rows => {
    const first = Math.floor((at * count) / parts);
    return [first, Math.floor(((at + 1) * count) / parts) - first];
  });
