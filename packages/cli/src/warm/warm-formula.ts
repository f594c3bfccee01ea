import { empty, type Device } from '@mercer/core';
import type { FloatDType } from '../files/read-operand.js';
import { namingOptionLater } from '../options/named-option.js';
import type { MatrixSize } from '../options/parse-size.js';
import type { TextReduction } from '../reduce/describe-reduction.js';

/** Rows of both sides that kernels are chosen for: medium and many, which stand for what lies between and beyond. */
const SIZES: readonly MatrixSize[] = [
  { m: 1000, n: 1000 },
  { m: 100_000, n: 100_000 },
];

type Category = TextReduction['reduction']['inputs'][number]['category'];

/** What the calls will be like. */
export interface FormulaCalls {
  readonly text: string;
  readonly reduce: TextReduction;
  readonly dtypes: readonly FloatDType[];
  /** Default: 1000 x 1000, and 100000 x 100000 but where the formula reads values of pairs. */
  readonly sizes: readonly MatrixSize[] | undefined;
  readonly device: Device;
  readonly onProgress: (done: number, total: number) => void;
}

/**
 * Compiles a reduction for calls of these dtypes and sizes, and returns those sizes.
 *
 * @throws CliError naming the formula, with the library's error
 */
export async function warmFormula(calls: FormulaCalls): Promise<readonly MatrixSize[]> {
  const { text, reduce, dtypes, device, onProgress } = calls;
  const { inputs } = reduce.reduction;
  const hasPairs = inputs.some(({ category }) => category === 'pair');
  const sizes = calls.sizes ?? (hasPairs ? SIZES.slice(0, 1) : SIZES);
  const wanted = dtypes.flatMap((dtype) => sizes.map((size) => ({ dtype, size })));
  for (const [done, { dtype, size }] of wanted.entries()) {
    onProgress(done, wanted.length);
    const tensors = inputs.map(({ category, dim }) =>
      empty(shapeOf(category, dim, size), { dtype, device }),
    );
    try {
      const prepared = await namingOptionLater(`--formula '${text}'`, () =>
        reduce.reduction.prepare(tensors),
      );
      prepared.dispose();
    } finally {
      for (const tensor of tensors) tensor.dispose();
    }
  }
  onProgress(wanted.length, wanted.length);
  return sizes;
}

function shapeOf(category: Category, dim: number, { m, n }: MatrixSize): number[] {
  switch (category) {
    case 'i':
      return [m, dim];
    case 'j':
      return [n, dim];
    case 'pair':
      return [m, n, dim];
    default:
      return [dim];
  }
}
