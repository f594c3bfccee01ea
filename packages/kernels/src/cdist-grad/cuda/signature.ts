import { cudaType } from '../../emit/cuda-literal.js';
import { parameterList } from '../../emit/parameter-text.js';
import type { KernelParam } from '../../kernel-param.js';
import { withWorkspace } from '../../kernel-program.js';
import { cdistGradParams } from '../program.js';
import type { CudaCdistGradPlan } from '../plan-types.js';
import type { TermStep } from './term-step.js';

/** The parameters of a kernel of the family, and their text. */
export function signature(
  { dtype }: CudaCdistGradPlan,
  workspace?: 'read' | 'write',
): { readonly params: readonly KernelParam[]; readonly list: string } {
  const own = cdistGradParams(dtype);
  const params = workspace === undefined ? own : withWorkspace(own, workspace);
  const elements = { workspace: cudaType(dtype) };
  return { params, list: parameterList(params, { elements, lines: ['m', 'ldd', 'pAt'] }) };
}

/** The exponent of this block's batch entry, where the term needs it. */
export function termSetup(step: TermStep, layer: string): string {
  if (!step.usesP) return '';
  return `const double p = pAt == nullptr ? pValue : (double)pAt[${layer} * pStride];
  ${step.setup}`;
}

/** Extents of the tile of a block. */
export interface BlockTile {
  readonly o: number;
  readonly n: number;
  readonly m: number;
}

/** Rows of tiles that are walked together, so that their operands stay in the L2 cache. */
const TILES_PER_GROUP = 16;

/** Which tile a block computes: batch, part of k, rows of c, then groups of tiles along n. */
export function locateFunction(tile: BlockTile, splitK: number): string {
  const tiles = (name: string, extent: number): string =>
    `(unsigned)((${name} + ${extent - 1}) / ${extent})`;
  const group = `${TILES_PER_GROUP}u`;
  return `struct Place { long long oStart, nStart, mStart; unsigned layer, part; };
__device__ __forceinline__ Place locate(unsigned index, long long o, long long n, long long m) {
  const unsigned oTiles = ${tiles('o', tile.o)}, nTiles = ${tiles('n', tile.n)}, mTiles = ${tiles('m', tile.m)};
  const unsigned perPart = nTiles * mTiles, perLayer = perPart * oTiles * ${splitK}u, layer = index / perLayer;
  index -= layer * perLayer;
  const unsigned part = index % ${splitK}u;
  index /= ${splitK}u;
  const unsigned oTile = index / perPart;
  index -= oTile * perPart;
  const unsigned perGroup = ${group} * mTiles, first = index / perGroup * ${group}, rows = min(nTiles - first, ${group});
  index %= perGroup;
  return {(long long)oTile * ${tile.o}, (long long)(first + index % rows) * ${tile.n}, (long long)(index / rows) * ${tile.m}, layer, part};
}`;
}

/** Blocks of a launch. */
export function blockCount(
  tile: BlockTile,
  splitK: number,
  sizes: { readonly m: number; readonly n: number; readonly o: number; readonly batch: number },
): number {
  const { m, n, o, batch } = sizes;
  return Math.ceil(m / tile.m) * Math.ceil(n / tile.n) * Math.ceil(o / tile.o) * batch * splitK;
}
