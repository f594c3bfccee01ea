import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  emitPairwise,
  emitRows,
  isEmitted,
  planPairwise,
  type Layout,
  type PairwiseDType,
} from '@mercer/kernels';
import type { EmittedKernel, KernelProgram, LaunchableKernel } from '@mercer/kernels';
import { describeValue, type OptionNames } from '@mercer/options';
import {
  device as deviceOf,
  empty,
  MercerError,
  type Device,
  type DeviceLike,
  type LoadOptions,
  type ProgressOption,
} from '@mercer/tensor';
import { kernelKey, LOAD_OPTIONS, PROGRESS_OPTION, readOptions } from '@mercer/tensor/operation';
import { checkDescriptor } from './check-descriptor.js';
import type { KernelDescriptor } from './descriptor-types.js';
import { parametersOf } from './kernel-parameters.js';
import { kernelSpec } from './kernel-spec.js';
import type { MatrixOperand, PairwiseShape } from './operands.js';
import { pairwiseProblem } from './pairwise-operation.js';
import type { PairwiseSpec } from './pairwise-spec.js';
import { rowsOperand, rowsPlan } from './row-preparation.js';
import { RUN_KERNEL_OPTIONS, type AnyRunKernelOptions } from './run-kernel-options.js';

/** A value as kernels know it: a number, which may be built in, or `'tensor'` for one that a call brings in memory. */
type BuiltIn = number | 'tensor';

/** What of the options of a call makes another kernel; values that do not, such as the bandwidth, are not named. */
export interface PrecompileParameters {
  readonly p?: BuiltIn | undefined;
  readonly innerP?: BuiltIn | undefined;
  readonly outerP?: BuiltIn | undefined;
  readonly degree?: BuiltIn | undefined;
  /** Default: the descriptor's. */
  readonly epsilon?: BuiltIn | undefined;
  /** For calls of one input. Default false. */
  readonly symmetric?: boolean | undefined;
  /** For calls with a regularised diagonal. Default false. */
  readonly regularization?: boolean | undefined;
  /** For calls with scaled features. Default false. */
  readonly scale?: boolean | undefined;
}

/** A descriptor with what its calls will be like. */
export interface PrecompileEntry extends PrecompileParameters {
  readonly descriptor: KernelDescriptor;
}

const PRECOMPILE_ENTRY: OptionNames<PrecompileEntry> = {
  descriptor: true,
  p: true,
  innerP: true,
  outerP: true,
  degree: true,
  epsilon: true,
  symmetric: true,
  regularization: true,
  scale: true,
};

/** Sizes that a plan is chosen for. */
export interface PrecompileSize {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  /** Default 1. */
  readonly batch?: number;
}

const PRECOMPILE_SIZE: OptionNames<PrecompileSize> = { m: true, n: true, k: true, batch: true };

/** Layouts of the operands: the last axis contiguous ('row') or the one before it ('column'). */
export type PrecompileLayouts = readonly [a: Layout, b: Layout, out: Layout];

/** Options of `precompile`. */
export interface PrecompileOptions extends LoadOptions, ProgressOption {
  /** Default: the default device. */
  readonly device?: DeviceLike | undefined;
  /** Default: all eight. */
  readonly layouts?: readonly PrecompileLayouts[] | undefined;
  /** Default: float32. */
  readonly dtypes?: readonly PairwiseDType[] | undefined;
  /**
   * true: kernels for operands that are all aligned to 16 bytes, for an unaligned result of aligned inputs, and for none
   * aligned. false: the last alone, which calls with `align: false` use. Default true.
   */
  readonly align?: boolean | undefined;
  /** Default: 1000 x 1000 x 64 and 30000 x 30000 x 1024. */
  readonly sizes?: readonly PrecompileSize[] | undefined;
}

const PRECOMPILE_OPTIONS: OptionNames<PrecompileOptions> = {
  device: true,
  layouts: true,
  dtypes: true,
  align: true,
  sizes: true,
  ...PROGRESS_OPTION,
  ...LOAD_OPTIONS,
};

/** What `precompile` did. */
export interface PrecompileReport {
  /** Different texts that were asked for: built-in functions of the CPU need no compiler. */
  readonly kernels: number;
}

const SIZES: readonly PrecompileSize[] = [
  { m: 1000, n: 1000, k: 64 },
  { m: 30000, n: 30000, k: 1024 },
];
const BOTH = ['row', 'column'] as const;
const LAYOUTS: readonly PrecompileLayouts[] = BOTH.flatMap((a) =>
  BOTH.flatMap((b) => BOTH.map((out) => [a, b, out] as const)),
);

/**
 * Compiles the kernels of descriptors in one parallel batch, so that later calls of `runKernel` find them in the cache, in
 * this process and in others. Every layout and alignment is a kernel of its own, and so are an exponent and a degree that
 * are built in: a descriptor with exponents or a degree is given with them.
 *
 * A kernel computes any sizes; which one is chosen depends on them. `sizes` lists those to choose for; the default is a
 * medium and a large shape, which stand for the sizes between them and beyond.
 *
 * @throws MercerError INVALID_ARGUMENT for descriptors and parameters that do not go together; the compiler's error, or a
 *   BatchError of @mercer/jit-cache with all of them
 *
 * @example
 * ```ts
 * import { kernels, precompile } from '@mercer/pairwise';
 *
 * const report = await precompile([kernels.manhattan, { descriptor: kernels.minkowski, p: 1.5 }], {
 *   device: 'cpu',
 *   layouts: [['row', 'row', 'row']],
 *   sizes: [{ m: 100, n: 100, k: 10 }],
 *   onProgress: ({ done, total }) => console.log(`${done} of ${total}`),
 * });
 * console.log(report.kernels); // 2
 * ```
 */
export async function precompile(
  descriptors: readonly (KernelDescriptor | PrecompileEntry)[],
  options?: PrecompileOptions,
): Promise<PrecompileReport> {
  options = readOptions('precompile', options, PRECOMPILE_OPTIONS);
  if (!Array.isArray(descriptors)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `precompile: the descriptors are ${describeValue(descriptors)}. Pass an array of them.`,
    );
  }
  const device = deviceOf(options.device);
  const { dtypes = ['float32'], align = true, onProgress, debug, signal } = options;
  const wanted = descriptors
    .map(entryOf)
    .flatMap((entry) =>
      dtypes.map((dtype) => ({ dtype, spec: specOf(entry, dtype, device, align) })),
    );
  const kernels = new Map<string, EmittedKernel>();
  for (const { spec, dtype } of wanted) {
    const before = kernels.size;
    for (const variant of variantsOf(spec, dtype, device, options)) collect(kernels, variant);
    if (debug !== undefined && debug !== false) continue;
    // Compilation of these begins while the next are written; whether it succeeds, the batch below tells.
    for (const kernel of [...kernels.values()].slice(before)) {
      device.load(kernel, { signal }).catch(() => {});
    }
    await nextTurn();
    signal?.throwIfAborted();
  }
  await device.loadAll([...kernels.values()], {
    onProgress,
    debug,
    signal,
  });
  return { kernels: kernels.size };
}

function entryOf(given: KernelDescriptor | PrecompileEntry): PrecompileEntry {
  const isEntry =
    typeof given === 'object' && (given as unknown) !== null && Object.hasOwn(given, 'descriptor');
  const entry = isEntry ? (given as PrecompileEntry) : { descriptor: given as KernelDescriptor };
  return readOptions('precompile: an entry', entry, PRECOMPILE_ENTRY);
}

interface Variant {
  readonly spec: PairwiseSpec;
  readonly shape: PairwiseShape;
  readonly operands: readonly [a: MatrixOperand, b: MatrixOperand, out: MatrixOperand];
}

function variantsOf(
  spec: PairwiseSpec,
  dtype: PairwiseDType,
  device: Device,
  { layouts = LAYOUTS, sizes = SIZES, align = true }: PrecompileOptions,
): Variant[] {
  const alignments = align ? ALIGNMENTS : ALIGNMENTS.slice(-1);
  return sizes.flatMap((size) => {
    const { m, n, k, batch = 1 } = readOptions('precompile: sizes', size, PRECOMPILE_SIZE);
    const shape = { dtype, device, m, n, k, batch, batchShape: [], outShape: [] };
    return layouts
      .filter(([a, b]) => !spec.symmetric || (a === b && m === n))
      .flatMap((layout) =>
        alignments.map((aligned) => ({
          spec,
          shape,
          operands: [
            operand(layout[0], aligned[0]),
            operand(layout[1], aligned[1]),
            operand(layout[2], aligned[2]),
          ] as const,
        })),
      );
  });
}

const ALIGNMENTS: readonly (readonly [a: boolean, b: boolean, out: boolean])[] = [
  [true, true, true],
  [true, true, false],
  [false, false, false],
];

function operand(layout: Layout, aligned: boolean): MatrixOperand {
  return { layout, aligned, leadingStride: 0, batchStride: 0 };
}

/** The spec of a call with these parameters; whatever makes no other kernel has any value. */
function specOf(
  { descriptor, ...parameters }: PrecompileEntry,
  dtype: PairwiseDType,
  device: Device,
  align: boolean,
): PairwiseSpec {
  checkDescriptor(descriptor, 'precompile');
  const { symmetric = false, regularization = false, scale = false, ...values } = parameters;
  const { kernel } = descriptor;
  const custom = typeof kernel === 'string' ? [] : kernel.parameters;
  const stand = empty([1], { dtype, device });
  try {
    const options: AnyRunKernelOptions = {
      ...Object.fromEntries(
        parametersOf(descriptor)
          .needed.filter((name) => name !== 'degree')
          .map((name) => [name, 1]),
      ),
      ...Object.fromEntries(
        Object.entries(values).map(([name, value]) => [name, value === 'tensor' ? stand : value]),
      ),
      ...(custom.length > 0 && {
        parameters: Object.fromEntries(custom.map((name) => [name, 1])),
      }),
      ...(regularization && { regularization: 1 }),
      ...(scale && { scale: 1 }),
      symmetric,
      align,
    };
    const read = readOptions('precompile', options, RUN_KERNEL_OPTIONS);
    return kernelSpec('precompile', descriptor, symmetric, read);
  } finally {
    stand.dispose();
  }
}

/** Adds the kernels of a variant. Plans for different sizes can differ and still give the same text. */
function collect(kernels: Map<string, EmittedKernel>, { spec, shape, operands }: Variant): void {
  const { limits } = shape.device;
  const add = ({ steps }: KernelProgram<LaunchableKernel>): void => {
    for (const { kernel } of steps) {
      if (isEmitted(kernel)) kernels.set(kernelKey(kernel), kernel);
    }
  };
  if (spec.rows === undefined) {
    add(emitPairwise(planPairwise(pairwiseProblem(spec, shape, operands), limits)));
    return;
  }
  const [a, b, out] = operands;
  const rows = rowsOperand(shape);
  add(emitPairwise(planPairwise(pairwiseProblem(spec, shape, [rows, rows, out]), limits)));
  add(emitRows(rowsPlan(spec.rows, shape, shape.m, a)));
  add(emitRows(rowsPlan(spec.rows, shape, shape.n, b)));
}
