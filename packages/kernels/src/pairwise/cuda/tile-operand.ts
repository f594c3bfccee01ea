import { cudaType } from '../../emit/cuda-literal.js';
import { dtypeBytes } from '../../dtype.js';
import type { Layout, PairwiseDType } from '../problem.js';
import type { TileConfig } from '../plan-types.js';

/** One operand of the tiled kernel. */
export interface TileOperand {
  readonly name: 'rows' | 'columns';
  readonly layout: Layout;
  readonly aligned: boolean;
  readonly dtype: PairwiseDType;
  /** Rows (columns) of the operand in one tile, the threads along them, and each thread's share. */
  readonly extent: number;
  readonly threads: number;
  readonly perThread: number;
}

/** The operand of the given role under a tile configuration. */
export function tileOperand(
  role: Pick<TileOperand, 'name' | 'layout' | 'aligned' | 'dtype'>,
  tile: TileConfig,
): TileOperand {
  const isRows = role.name === 'rows';
  const extent = isRows ? tile.tileRows : tile.tileColumns;
  const threads = isRows ? tile.threadRows : tile.threadColumns;
  return { ...role, extent, threads, perThread: extent / threads };
}

/** Elements in 16 bytes. */
export const wide = (dtype: PairwiseDType): number => 16 / dtypeBytes(dtype);

/**
 * Stride of shared memory in elements. k-contiguous operands keep their rows, padded by 16 bytes so
 * that eight rows read at once lie in eight different bank groups; the others are kept by k.
 */
export function sharedStride(operand: TileOperand, tile: TileConfig): number {
  return operand.layout === 'row' ? tile.tileK + wide(operand.dtype) : operand.extent;
}

/** Elements of one stage in shared memory. */
export function sharedElements(operand: TileOperand, tile: TileConfig): number {
  const count = operand.layout === 'row' ? operand.extent : tile.tileK;
  return count * sharedStride(operand, tile);
}

/** Neighbouring elements of the operand that one thread reads at once where it is kept by k. */
export function group(operand: TileOperand): number {
  const most = wide(operand.dtype);
  return operand.layout === 'column' && operand.perThread % most === 0 ? most : 1;
}

/** Place in the tile of the thread's element `index`: text, from the thread's own coordinate. */
export function placeInTile(operand: TileOperand, coordinate: string, index: string): string {
  const g = group(operand);
  if (g === 1) return `${coordinate} + ${index} * ${String(operand.threads)}`;
  const step = String(operand.threads * g);
  return `${coordinate} * ${String(g)} + ${index} / ${String(g)} * ${step} + ${index} % ${String(g)}`;
}

/**
 * The function `load_<name>`: asynchronous copies of one tile into shared memory. Elements outside
 * the operand become 0, which adds nothing to a sum or maximum of distances.
 */
export function loadFunction(operand: TileOperand, tile: TileConfig): string {
  const type = cudaType(operand.dtype);
  const bytes = dtypeBytes(operand.dtype);
  const vector = operand.aligned ? wide(operand.dtype) : 1;
  const threads = tile.threadRows * tile.threadColumns;
  const stride = sharedStride(operand, tile);
  const byK = operand.layout === 'column';
  const inner = (byK ? operand.extent : tile.tileK) / vector;
  const outer = byK ? tile.tileK : operand.extent;
  const step = threads / inner;
  const passes = Math.ceil(outer / step);
  const [innerLimit, outerLimit] = byK ? ['count', 'steps'] : ['steps', 'count'];
  const guard = outer % step === 0 ? '' : `if (outer + pass * ${String(step)} < ${String(outer)}) `;
  const cache = vector * bytes === 16 ? 'cg' : 'ca';
  return `// ${operand.name}: ${byK ? 'k by ' + operand.name : operand.name + ' by k'}, ${String(vector * bytes)} bytes a copy
__device__ __forceinline__ void load_${operand.name}(unsigned target, const ${type}* __restrict__ source, long long stride, int count, int steps, int thread) {
  const int inner = thread % ${String(inner)} * ${String(vector)}, outer = thread / ${String(inner)};
  const int valid = min(max(${innerLimit} - inner, 0), ${String(vector)}) * ${String(bytes)};
  source += outer * stride + inner;
  target += (outer * ${String(stride)} + inner) * ${String(bytes)};
  #pragma unroll
  for (int pass = 0; pass < ${String(passes)}; ++pass) {
    ${guard}asm volatile("cp.async.${cache}.shared.global [%0], [%1], ${String(vector * bytes)}, %2;" ::
      "r"(target + pass * ${String(step * stride * bytes)}), "l"(source + pass * ${String(step)} * stride),
      "r"(outer + pass * ${String(step)} < ${outerLimit} ? valid : 0) : "memory");
  }
}`;
}
