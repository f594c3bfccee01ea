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

/** Threads of a block. */
export function blockThreads(tile: TileConfig): number {
  return tile.threadRows * tile.threadColumns * tile.slicesK;
}

/** Elements in 16 bytes. */
export const wide = (dtype: PairwiseDType): number => 16 / dtypeBytes(dtype);

/**
 * Stride of shared memory in elements: operands are kept by k, so that a thread reads neighbouring
 * rows with one instruction. The padding of 16 bytes puts the elements that a warp copies out of a
 * k-contiguous operand, 8 steps of k of 4 rows, into different banks.
 */
export function sharedStride(operand: TileOperand): number {
  return operand.extent + wide(operand.dtype);
}

/** Bytes of shared memory that the stages of a tile take. */
export function stageBytes(tile: TileConfig, dtype: PairwiseDType): number {
  const perStep = tile.tileRows + tile.tileColumns + 2 * wide(dtype);
  return tile.stages * tile.tileK * perStep * dtypeBytes(dtype);
}

/** Elements of one stage in shared memory. */
export function sharedElements(operand: TileOperand, tile: TileConfig): number {
  return tile.tileK * sharedStride(operand);
}

/** Neighbouring elements of the operand that one thread reads at once. */
export function group(operand: TileOperand): number {
  const most = wide(operand.dtype);
  return operand.perThread % most === 0 ? most : 1;
}

/** Place in the tile of the thread's element `index`: text, from the thread's own coordinate. */
export function placeInTile(operand: TileOperand, coordinate: string, index: string): string {
  const g = group(operand);
  if (g === 1) return `${coordinate} + ${index} * ${operand.threads}`;
  const step = String(operand.threads * g);
  return `${coordinate} * ${g} + ${index} / ${g} * ${step} + ${index} % ${g}`;
}

/** How the threads of a block share the copying of one tile. */
interface CopyShape {
  /** Elements of one copy. */
  readonly vector: number;
  /** Threads side by side along the contiguous axis. */
  readonly across: number;
  /** Copies of one thread along the contiguous axis and along the other one. */
  readonly innerPasses: number;
  readonly outerPasses: number;
  /** Steps of the other axis between two passes, and its extent. */
  readonly outerStep: number;
  readonly outerExtent: number;
}

/** Neighbouring steps of k that a warp copies of one row of a k-contiguous operand. */
const STEPS_ACROSS = 8;

function copyShape(operand: TileOperand, tile: TileConfig): CopyShape {
  const threads = blockThreads(tile);
  const byK = operand.layout === 'column';
  // A k-contiguous operand is turned on its way: every element is copied alone.
  const vector = byK && operand.aligned ? wide(operand.dtype) : 1;
  const innerVectors = (byK ? operand.extent : tile.tileK) / vector;
  const outerExtent = byK ? tile.tileK : operand.extent;
  const across = Math.min(innerVectors, byK ? threads : STEPS_ACROSS);
  const outerStep = threads / across;
  return {
    vector,
    across,
    innerPasses: innerVectors / across,
    outerPasses: Math.ceil(outerExtent / outerStep),
    outerStep,
    outerExtent,
  };
}

/** Place in a stage of the element at `inner` along the contiguous axis, `outer` along the other. */
function sharedPlace(operand: TileOperand, inner: string, outer: string): string {
  const stride = String(sharedStride(operand));
  return operand.layout === 'column'
    ? `(${outer}) * ${stride} + ${inner}`
    : `(${inner}) * ${stride} + ${outer}`;
}

/** This thread's first source and target, and how much of the tile lies inside the operand. */
export function loadSetup(operand: TileOperand, tile: TileConfig, start: LoadStart): string {
  const { vector, across } = copyShape(operand, tile);
  const { name } = operand;
  const bytes = dtypeBytes(operand.dtype);
  const type = cudaType(operand.dtype);
  const byK = operand.layout === 'column';
  const [first, second] = byK
    ? [`${start.kStart} + ${name}Outer`, `${start.place} + ${name}Inner`]
    : [`${start.place} + ${name}Outer`, `${start.kStart} + ${name}Inner`];
  return `const int ${name}Inner = thread % ${across} * ${vector}, ${name}Outer = thread / ${across};
  const ${type}* ${name}Source = ${start.base} + (${first}) * ${start.stride} + ${second};
  const unsigned ${name}Target = shared + (${sharedPlace(operand, `${name}Inner`, `${name}Outer`)}) * ${bytes}${start.sharedOffset === 0 ? '' : ` + ${start.sharedOffset}`};
  const int ${name}Left = ${start.count} - ${byK ? `${name}Inner` : `${name}Outer`};`;
}

/** Texts that place an operand's first tile. */
export interface LoadStart {
  readonly base: string;
  readonly stride: string;
  readonly place: string;
  readonly kStart: string;
  readonly count: string;
  /** Bytes. */
  readonly sharedOffset: number;
}

/**
 * The function `load_<name>`: asynchronous copies of this thread's part of one tile into shared
 * memory; moves the source to the next tile. Elements outside the operand become 0, which adds
 * nothing to a sum or maximum of distances.
 */
export function loadFunction(operand: TileOperand, tile: TileConfig): string {
  const type = cudaType(operand.dtype);
  const bytes = dtypeBytes(operand.dtype);
  const shape = copyShape(operand, tile);
  const { vector, across, innerPasses, outerPasses, outerStep, outerExtent } = shape;
  const threads = blockThreads(tile);
  const byK = operand.layout === 'column';
  const cache = vector * bytes === 16 ? 'cg' : 'ca';
  const size = String(vector * bytes);
  const innerStep = across * vector;
  const clamp = (text: string): string => `min(max(${text}, 0), ${vector}) * ${bytes}`;
  const place = `o * ${outerStep}`;
  const innerPlace = innerPasses === 1 ? '' : ` - i * ${innerStep}`;
  const whole = byK ? clamp(`left${innerPlace}`) : `${place} < left ? ${size} : 0`;
  const cut = byK
    ? `outer + ${place} < steps ? ${clamp(`left${innerPlace}`)} : 0`
    : `${place} < left ? ${clamp(`steps - inner${innerPlace}`)} : 0`;
  const guard =
    outerExtent % outerStep === 0 && outerStep <= outerExtent
      ? ''
      : `if (outer + ${place} < ${outerExtent}) `;
  const copies = (valid: string, unroll: string): string => `#pragma unroll${unroll}
    for (int o = 0; o < ${outerPasses}; ++o)
      #pragma unroll${unroll}
      for (int i = 0; i < ${innerPasses}; ++i)
        ${guard}copy_${cache}${size}(target + (${sharedPlace(operand, `i * ${innerStep}`, `o * ${outerStep}`)}) * ${bytes}, source + o * ${outerStep} * stride + i * ${innerStep}, ${valid});`;
  return `// ${operand.name}${byK ? '' : ', turned'}: ${threads} threads copy ${size} bytes at a time
__device__ __forceinline__ void load_${operand.name}(unsigned target, const ${type}*& source, long long stride, int inner, int outer, int left, int steps) {
  if (steps >= ${tile.tileK}) {
    ${copies(whole, '')}
  } else {
    ${copies(cut, ' 1')}
  }
  source += ${byK ? `${tile.tileK} * stride` : String(tile.tileK)};
}`;
}

/** The copies of `size` bytes that a kernel uses: bytes past `valid` are filled with zeros. */
export function copyFunctions(operands: readonly TileOperand[]): string {
  const sizes = new Set(
    operands.map((operand) =>
      operand.aligned && operand.layout === 'column' ? 16 : dtypeBytes(operand.dtype),
    ),
  );
  return [...sizes]
    .map((size) => {
      const cache = size === 16 ? 'cg' : 'ca';
      return `__device__ __forceinline__ void copy_${cache}${size}(unsigned target, const void* source, int valid) {
  asm volatile("cp.async.${cache}.shared.global [%0], [%1], ${size}, %2;" :: "r"(target), "l"(source), "r"(valid) : "memory");
}`;
    })
    .join('\n');
}
