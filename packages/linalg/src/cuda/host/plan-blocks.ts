/** A product of matrices in host memory that a device computes in blocks. */
export interface BlockProblem {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  /** Entries of the batch. */
  readonly batch: number;
  readonly elementBytes: 4 | 8;
  /** Most memory of the device for all that the plan counts. */
  readonly maxBytes: number;
  /** Whether factors are split into two parts there. */
  readonly parts: boolean;
  /** Steps of k that a block should have at least. */
  readonly leastK: number;
}

/** Extents of a block, and what the device holds at a time. */
export interface BlockPlan {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly batch: number;
  /** Blocks of the result: a second one is computed while the first one is brought home. */
  readonly results: 1 | 2;
  readonly workspaceBytes: number;
  /** Everything together: results, two blocks of each factor, their parts, the workspace. */
  readonly bytes: number;
}

/** A block of the result, and the blocks of k that are added up in it, as [first, count]. */
export interface Tile {
  readonly entries: Range;
  readonly rows: Range;
  readonly columns: Range;
  readonly steps: readonly Range[];
}

export type Range = readonly [first: number, count: number];

/** Larger blocks of the result would leave nothing to overlap, and gain little: each step is long beside its copies. */
const MOST_SIDE = 16_384;
/** Steps of k of a block where there is room. */
const GOOD_K = 2048;
/** Elements of all blocks of the entries of a batch that travel together. */
const MOST_TOGETHER = 2 ** 25;
const MOST_WORKSPACE = 2 ** 25;

/** Lines of a block lie a multiple of four elements apart. */
const padded = (length: number): number => 4 * Math.ceil(length / 4);

type Extents = Pick<BlockPlan, 'm' | 'n' | 'k' | 'batch'>;

/** Bytes of blocks with these extents on the device; an upper bound in either order of the matrices. */
function bytesOf({ elementBytes, parts }: BlockProblem, block: Extents, results: number): number {
  const [m, n, k] = [padded(block.m), padded(block.n), padded(block.k)];
  const factors = (m * k + k * n) * (parts ? 4 : 2);
  return elementBytes * block.batch * (results * m * n + factors);
}

function workspaceFor(maxBytes: number): number {
  return Math.min(MOST_WORKSPACE, 256 * Math.floor(maxBytes / 8 / 256));
}

/** The least `maxBytes` that a product with these factors can be planned with. */
export function leastBytes({ elementBytes, parts }: Pick<BlockProblem, 'elementBytes' | 'parts'>) {
  const extents = { m: 1, n: 1, k: 1, batch: 1 };
  const problem = { ...extents, elementBytes, parts, maxBytes: 0, leastK: 1 };
  return 2 * bytesOf(problem, extents, 2);
}

/**
 * Blocks that fit: squares of the result that are as large as possible, since each element of a factor is copied once for each
 * block of the result beside it, with blocks of k that are not longer than their sides; several entries of a batch where whole
 * ones are small.
 *
 * @returns undefined where maxBytes is less than `leastBytes`
 */
export function planBlocks(problem: BlockProblem): BlockPlan | undefined {
  if (problem.maxBytes < leastBytes(problem)) return undefined;
  const workspaceBytes = workspaceFor(problem.maxBytes);
  const room = problem.maxBytes - workspaceBytes;
  const fits = (block: Extents): boolean => bytesOf(problem, block, 2) <= room;
  const { k, side } = depthAndSide(problem, fits);
  const wide = largest(Math.min(problem.n, MOST_SIDE), (n) =>
    fits({ m: Math.min(problem.m, side), n, k, batch: 1 }),
  );
  const n = even(problem.n, wide);
  const tall = largest(Math.min(problem.m, MOST_SIDE), (m) => fits({ m, n, k, batch: 1 }));
  const m = even(problem.m, tall);
  const batch =
    m === problem.m && n === problem.n && k === problem.k
      ? largest(entriesTogether(problem), (count) => fits({ m, n, k, batch: count }))
      : 1;
  const results = m === problem.m && n === problem.n && batch === problem.batch ? 1 : 2;
  const block = { m, n, k, batch };
  return {
    ...block,
    results,
    workspaceBytes,
    bytes: bytesOf(problem, block, results) + workspaceBytes,
  };
}

/** Steps of k, halved until a block of the result is at least as wide, and the side of that block. */
function depthAndSide(
  { m, n, k, leastK }: BlockProblem,
  fits: (block: Extents) => boolean,
): { k: number; side: number } {
  const most = Math.min(MOST_SIDE, Math.max(m, n));
  for (let depth = Math.min(k, Math.max(GOOD_K, leastK)); ; depth = Math.ceil(depth / 2)) {
    const square = (side: number): boolean =>
      fits({ m: Math.min(m, side), n: Math.min(n, side), k: depth, batch: 1 });
    const side = largest(most, square);
    const wideEnough = square(side) && (side === most || side >= depth);
    if (depth === 1 || wideEnough) return { k: depth, side };
  }
}

function entriesTogether({ m, n, k, batch }: BlockProblem): number {
  return Math.min(batch, Math.max(1, Math.floor(MOST_TOGETHER / (m * n + m * k + k * n))));
}

/** The largest number from 1 to `most` that passes, or 1; all below one that passes do. */
function largest(most: number, passes: (candidate: number) => boolean): number {
  let [low, high] = [1, most];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (passes(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The same number of blocks, of equal size but for rounding. */
const even = (extent: number, most: number): number => Math.ceil(extent / Math.ceil(extent / most));

/** The blocks of the result in the order in which they are computed; every element is in exactly one. */
export function* tilesOf(problem: BlockProblem, plan: BlockPlan): Generator<Tile> {
  const steps = [...rangesOf(problem.k, plan.k)];
  for (const entries of rangesOf(problem.batch, plan.batch)) {
    for (const rows of rangesOf(problem.m, plan.m)) {
      for (const columns of rangesOf(problem.n, plan.n)) yield { entries, rows, columns, steps };
    }
  }
}

function* rangesOf(extent: number, block: number): Generator<Range> {
  for (let first = 0; first < extent; first += block)
    yield [first, Math.min(block, extent - first)];
}
