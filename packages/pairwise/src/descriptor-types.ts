import type {
  DescriptorPower,
  InnerOperator,
  PlainKernel,
  ProductKernel,
  RadialKernel,
} from '@mercer/kernels';
import type { CustomKernel } from './custom-kernel.js';

/** Any powers: the kernel is applied to d as it stands. */
interface PlainDescriptor {
  readonly innerOperator: InnerOperator;
  readonly innerPower: DescriptorPower;
  readonly outerPower: DescriptorPower;
  readonly kernel: PlainKernel | CustomKernel;
}

/** The kernels of the squared distance. */
interface RadialDescriptor {
  readonly innerOperator: 'diff';
  readonly innerPower: 'square';
  readonly outerPower: 'none';
  readonly kernel: RadialKernel;
}

/** The kernels of the inner product. */
interface ProductDescriptor {
  readonly innerOperator: 'dot';
  readonly innerPower: 'none';
  readonly outerPower: 'none';
  readonly kernel: ProductKernel;
}

/**
 * What `runKernel` computes: `out[m, n] = kernel(outer(sum_k inner(a[m, k], b[n, k])))`.
 *
 * - `innerOperator`: x = b - a (`diff`) or x = a b (`dot`);
 * - `innerPower`: x, |x|, x^2, sqrt(x), or |x|^innerP (`pow`); summed over k it is s;
 * - `outerPower`: d is s, |s|, s^2, sqrt(s), or s^outerP (`pow`);
 * - `kernel`: none, laplace `exp(-d / bandwidth)` and gaussian `exp(-d / (2 bandwidth^2))` of d as it stands, which is
 *   Kermac's convention (the usual Gaussian has innerPower 'square' and outerPower 'none'); a custom kernel; the kernels of
 *   the squared distance, which need diff, square and none; those of the inner product, which need dot, none and none.
 *
 * A plain frozen value: two equal descriptors behave the same.
 */
export type KernelDescriptor = PlainDescriptor | RadialDescriptor | ProductDescriptor;

/** A descriptor with the literal types of its parts, from which the options of a call follow. */
export type DescriptorOf<F extends KernelDescriptor> = F extends unknown
  ? { readonly [P in keyof KernelDescriptor]: F[P] }
  : never;
