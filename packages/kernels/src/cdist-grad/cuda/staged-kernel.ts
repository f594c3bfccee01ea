import { cudaKernel } from '../../emit/cuda-kernel.js';
import { cudaType } from '../../emit/literals.js';
import { lines } from '../../emit/text.js';
import { type CudaKernel, withWorkspace } from '../../emitted-kernel.js';
import { pipelineOf, type Pipeline, type PipelineOperand } from '../../pair-tile/cuda/pipeline.js';
import type { StagedOperand } from '../../pair-tile/cuda/staged-operand.js';
import type { FmaPlan, MmaPlan, CudaCdistGradPlan } from '../plan-types.js';
import { cdistGradCost, sizesOf, cdistGradParams } from '../program.js';
import { STAGES } from './configs.js';
import { termStep, type TermStep } from './term-step.js';
import { parameterList } from '../../emit/parameter-text.js';
import type { KernelParam } from '../../kernel-param.js';

/** One of the three operands. */
export interface GradOperand extends StagedOperand {
  readonly name: keyof typeof AXES;
}

/** What tells one kernel over stages in shared memory from another; texts are C++. */
export interface StagedKernelParts {
  readonly entry: string;
  readonly tile: BlockTile;
  /** Threads of a block. */
  readonly threads: number;
  readonly blocksPerMultiprocessor: number;
  readonly tileK: number;
  readonly operands: readonly GradOperand[];
  /** Device functions. */
  readonly functions: string;
  /** Declares the place of a thread in the block, where `setup` reads it. */
  readonly place?: string;
  /** Declares the sums, and what else the loop needs, behind the pipeline's own declarations. */
  readonly setup: (pipeline: Pipeline) => string;
  /** Everything that is done with one stage. */
  readonly compute: (pipeline: Pipeline) => string;
  /** The same for `store`, behind the loop: from `threadAgain`, and `end` instead of `place`. */
  readonly placeAgain: string;
  readonly store: string;
  /** Bytes of shared memory behind the stages. */
  readonly bytesBehind: number;
  /** Instructions of one factor's products with so many rows of c; default: one for each row. */
  readonly multiplySlots?: (rows: number) => number;
}

/** A kernel that walks k in stages; with `splitK` above 1 it writes partial sums to the workspace. */
export function stagedKernel(plan: FmaPlan | MmaPlan, parts: StagedKernelParts): CudaKernel {
  const { splitK } = plan;
  const { entry, tile, threads, tileK, operands } = parts;
  const step = termStep(plan);
  const pipeline = pipelineOf(
    operands.map((operand) => ({ ...operand, ...placeOf(operand.name) })),
    {
      threads,
      tileK,
      stages: STAGES,
      splitK,
      keepsInRegisters: false,
      locate: 'locate(block, o, n, m)',
    },
  );
  return cudaKernel({
    name: plan.summary,
    entry,
    ...signature(plan, splitK > 1 ? 'write' : undefined),
    before: `${step.functions}
${parts.functions}
${locateFunction(tile, splitK)}
${pipeline.functions}

`,
    threads,
    resident: parts.blocksPerMultiprocessor,
    body: `  extern __shared__ __align__(16) unsigned char memory[];
  const Place place = locate(blockIdx.x, o, n, m);
  ${termSetup(step, 'place.layer')}
  const unsigned thread = threadIdx.x;
${lines(parts.place, pipeline.setup)}

${parts.setup(pipeline)}

${pipeline.loop(parts.compute(pipeline))}

${pipeline.after(lines(parts.placeAgain, parts.store))}`,
    grid: (scalars) => blockCount(tile, splitK, sizesOf(scalars)),
    sharedMemBytes: pipeline.sharedMemBytes + parts.bytesBehind,
    cost: (scalars) => cdistGradCost(plan, step, scalars, parts.multiplySlots),
  });
}

const AXES = { a: 'm', b: 'n', c: 'o' } as const;

/** Where a block's part of an operand lies. */
function placeOf(name: GradOperand['name']): Omit<PipelineOperand, keyof StagedOperand> {
  const axis = AXES[name];
  return {
    base: `${name} + place.layer * batchStride${name.toUpperCase()}`,
    lineStride: `ld${name}`,
    count: axis,
    start: `place.${axis}Start`,
  };
}

/** Declares `target`, a thread's first element of the output or of its part of the workspace, and its strides. */
export function storeTarget({ dtype, splitK }: FmaPlan | MmaPlan): string {
  const type = cudaType(dtype);
  return splitK > 1
    ? `const long long strideN = m, strideR = n * m;
  ${type}* const target = workspace + (((long long)end.part * batch + end.layer) * o + end.oStart) * strideR + (end.nStart + nPlace) * m + end.mStart + mPlace;`
    : `const long long strideN = ldo, strideR = strideO;
  ${type}* const target = out + end.layer * batchStrideOut + end.oStart * strideO + (end.nStart + nPlace) * ldo + end.mStart + mPlace;`;
}

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
function termSetup(step: TermStep, layer: string): string {
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
function locateFunction(tile: BlockTile, splitK: number): string {
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
