import { blockGeometry, type CudaBlocks } from '../emit/cuda-kernel.js';
import { cudaType } from '../emit/literals.js';
import { indent, lines } from '../emit/text.js';
import { parameterList } from '../emit/parameter-text.js';
import type { CudaKernel, Scalars } from '../emitted-kernel.js';
import { int64, type KernelParam } from '../kernel-param.js';
import type { PairwiseDType } from '../dtype.js';

/** Dtypes of matrices. */
export type MatrixDType = PairwiseDType;

/** Batch axes that a strided matrix can have. */
export const MATRIX_BATCH_AXES = 6;

const axes = Array.from({ length: MATRIX_BATCH_AXES }, (_, axis) => axis);

/** What a matrix kernel is made of. */
export interface MatrixText extends CudaBlocks {
  readonly name: string;
  readonly entry: string;
  readonly params: readonly KernelParam[];
  /** What pointers to bytes point to in the text, by their names. */
  readonly elements?: Readonly<Record<string, string>>;
  /** Text before the kernel. */
  readonly functions?: string;
  readonly body: string;
}

/** A kernel of the CUDA dialect; the CPU's runtime has these steps inside its own routines. */
export function matrixKernel(text: MatrixText): CudaKernel {
  const { name, entry, params, functions, threads, body } = text;
  const integers = { int32: 'int', int64: 'i64' };
  const signature = parameterList(params, {
    integers,
    restricts: () => false,
    elements: text.elements ?? {},
  });
  const source = lines(
    'typedef long long i64;',
    functions,
    `extern "C" __global__ void __launch_bounds__(${threads}) ${entry}(${signature}) {`,
    indent(body),
    '}',
  );
  const geometry = blockGeometry(text);
  return { dialect: 'cuda', name, entry, params, options: [], source: `${source}\n`, geometry };
}

/** Extents of the batch axes, right-aligned; leading ones are 1. */
export const batchParams: readonly KernelParam[] = axes.map((axis) => int64(`batch${axis}`));

/** Strides of a matrix in elements, `name` in front of each: row, column, and one for each batch axis. */
export function stridesOf(name: string): readonly KernelParam[] {
  return [
    int64(`${name}Row`),
    int64(`${name}Column`),
    ...axes.map((axis) => int64(`${name}Batch${axis}`)),
  ];
}

/** Text that declares `name`: the element where matrix z of a strided operand starts. */
export function startText(name: string, from: string): string {
  const steps = [...axes].reverse().map((axis) => {
    const [extent, stride] = [`batch${axis}`, `${from}Batch${axis}`];
    return `if (${extent} > 1) ${name} += (rest % ${extent}) * ${stride}, rest /= ${extent};`;
  });
  return lines(`i64 ${name} = 0;`, '{', indent(lines('i64 rest = z;', ...steps)), '}');
}

/** Is element (row, column) in the part of the matrix that counts: 0 all, 1 the lower triangle, 2 the upper. */
export const PART_FUNCTION =
  '__device__ inline bool in_part(i64 part, i64 row, i64 column) { return part == 0 || (part == 1 ? row >= column : row <= column); }';

/** `finite(x)`: neither infinite nor NaN. */
export function finiteFunction(dtype: MatrixDType): string {
  const type = cudaType(dtype);
  return `__device__ inline bool finite(${type} x) { return x - x == 0; }`;
}

/** Rows and columns of a tile that a block of TILE_THREADS threads turns. */
export const TILE = 32;
export const TILE_THREADS = 256;

/** Blocks of one tile each, matrix after matrix. */
export const tileGrid = ({ rows = 0, columns = 0, count = 0 }: Scalars): number =>
  Math.ceil(rows / TILE) * Math.ceil(columns / TILE) * count;

/** Text that declares a block's matrix z, its tile's first element (row0, column0), lane and group. */
export const TILE_TEXT = lines(
  '// Blocks are fewer than 2^31, and a division of 64 bits costs as much as the rest of a tile.',
  `const unsigned across = (unsigned)((rows + ${TILE - 1}) / ${TILE});`,
  `const unsigned tiles = across * (unsigned)((columns + ${TILE - 1}) / ${TILE});`,
  'const unsigned matrix = blockIdx.x / tiles, tileIndex = blockIdx.x - matrix * tiles, down = tileIndex / across;',
  'const i64 z = matrix;',
  `const i64 row0 = (i64)(tileIndex - down * across) * ${TILE}, column0 = (i64)down * ${TILE};`,
  `const int lane = threadIdx.x % ${TILE}, group = threadIdx.x / ${TILE};`,
);

/** One block for each matrix. */
export const entryGrid = ({ count = 0 }: Scalars): number => count;

/** Declares `name`: whether the rows of an operand lie closer together than its columns. */
export const alongRowsText = (name: string, operand: string): string =>
  `const bool ${name} = (${operand}Row < 0 ? -${operand}Row : ${operand}Row) <= (${operand}Column < 0 ? -${operand}Column : ${operand}Column);`;
