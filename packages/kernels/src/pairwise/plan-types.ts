import type { TileConfig } from '../pair-tile/cuda/tile-operand.js';
import type { ProductsConfig } from '../products/products-config.js';
import type { CpuPairwisePlan } from './cpu/plan.js';
import type { PlanExtras, Layout, PairwiseProblem } from './problem.js';

/** Sizes of the kernel whose lanes share the sum over k. */
export interface DotConfig {
  /** Lanes along k: a power of two up to 32. */
  readonly lanes: number;
  /** Warps along k; above 1 the group is a whole block. */
  readonly warps: number;
  /** Outputs of one group. */
  readonly rows: number;
  readonly columns: number;
  /** Elements of k that one load takes. */
  readonly vector: number;
}

/** Sizes of the kernel for very short sums, bound by writing the output. */
export interface OuterConfig {
  /** Length of the sum, fixed in the text. */
  readonly k: number;
  readonly threadsX: number;
  readonly threadsY: number;
  /** Contiguous outputs of one store. */
  readonly vector: number;
  /** Outputs of one thread along the rows. */
  readonly rows: number;
}

/**
 * How float32 powers with a run-time exponent are computed. 'fast': lg2 and ex2 on the special-function unit, ex2 by a polynomial for half of
 * the columns. 'accurate': polynomials only, for exponents where the fast way exceeds the published bound. 'either': both, and plain
 * arithmetic for 1 and 2, for an exponent that each batch entry reads from memory.
 */
export type PairPower = 'fast' | 'accurate' | 'either';

interface CudaPlanBase
  extends PlanExtras, Pick<PairwiseProblem, 'dtype' | 'inner' | 'outer' | 'reduce' | 'alignedOut'> {
  readonly kind: 'cuda';
  /** One readable line. */
  readonly summary: string;
  /**
   * The output is column-major: rows of the kernel run over b and columns over a, so that the
   * text only ever writes row-major.
   */
  readonly swapped: boolean;
  /** Layouts and alignments after the swap. */
  readonly rowsLayout: Layout;
  readonly columnsLayout: Layout;
  readonly alignedRows: boolean;
  readonly alignedColumns: boolean;
  readonly power?: PairPower;
}

/** Register tiles over shared memory, optionally with the sum over k cut into parts. */
export interface TilePlan extends CudaPlanBase {
  readonly strategy: 'tile';
  readonly tile: TileConfig;
  /** Parts of k, each by its own block; above 1 a second kernel combines them in a fixed order. */
  readonly splitK: number;
}

/** Lanes share the sum: for few outputs or matrix-vector shapes. */
export interface DotPlan extends CudaPlanBase {
  readonly strategy: 'dot';
  readonly dot: DotConfig;
}

/** Every thread keeps its operands in registers and writes: for very short sums. */
export interface OuterPlan extends CudaPlanBase {
  readonly strategy: 'outer';
  readonly outerProduct: OuterConfig;
}

/** The second phase of squared distances through products, which are computed where the output goes before. */
export interface ProductsPlan extends CudaPlanBase {
  readonly strategy: 'products';
  readonly products: ProductsConfig;
}

/** A plan for a GPU. */
export type CudaPairwisePlan = TilePlan | DotPlan | OuterPlan | ProductsPlan;

/** The same before it has its line. */
export type UnnamedCudaPlan =
  | Omit<TilePlan, 'summary'>
  | Omit<DotPlan, 'summary'>
  | Omit<OuterPlan, 'summary'>
  | Omit<ProductsPlan, 'summary'>;

/** What of a plan decides the arithmetic of a pair. */
export type PairArithmeticPlan = Pick<
  TilePlan,
  'dtype' | 'inner' | 'reduce' | 'swapped' | 'power' | 'parameters'
>;

/** A plan: plain frozen data, the same for the same problem and limits. */
export type PairwisePlan = CudaPairwisePlan | CpuPairwisePlan;
