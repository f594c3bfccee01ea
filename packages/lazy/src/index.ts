/**
 * Symbolic matrices that are never stored: formulas of rows of i and j, reduced over either side.
 *
 * @packageDocumentation
 */
import { setTracedReductions } from './reductions.js';
import { tracedReductions } from './traced-reductions.js';

export {
  ComplexLazyTensor,
  complexOf,
  exp1j,
  imagToComplex,
  realToComplex,
  type ComplexOperand,
} from './complex-lazy-tensor.js';
export {
  genericArgKMin,
  genericArgMin,
  genericLogSumExp,
  genericSum,
} from './generic-reductions.js';
export { genred, type Genred, type GenredArguments, type GenredOptions } from './genred.js';
export { gradient, type GradientOptions } from './gradient.js';
export type { PrepareOptions } from './call-options.js';
export type { SavedForward } from './saved-results.js';
export {
  valueAndGradients,
  type GradientsOptions,
  type GradientsOut,
  type NamedVariables,
  type ValueAndGradients,
} from './value-and-gradients.js';
export {
  jointReduction,
  JointReduction,
  type JointResults,
  type NamedReductions,
  type PreparedJointReduction,
} from './joint-reduction.js';
export type { ComputedIn, LazyDType, StoredDType } from './lazy-dtype.js';
export type { HistogramOptions } from './histogram.js';
export { LazyError, type LazyErrorCode } from './lazy-error.js';
export type { LazyData, Placeholder } from './make-input.js';
export {
  lazy,
  lazyI,
  lazyJ,
  lazyPair,
  param,
  type ComputedOf,
  type LazyOptions,
  type PairOptions,
} from './make-lazy.js';
export type { LazyFormula, LazyOperand } from './lazy-formula.js';
export { LazyReduction, type PreparedRanges, type PreparedReduction } from './lazy-reduction.js';
export type { DescribeOptions } from './lazy-reductions.js';
export { LazyTensor } from './lazy-tensor.js';
export {
  clusterCentroids,
  clusterRangesCentroids,
  type CentroidOptions,
  type Centroids,
  type RangesAndCentroids,
} from './clusters/cluster-centroids.js';
export { clusterRanges, type ClusterOptions } from './clusters/cluster-ranges.js';
export { cutoffOf, type CutoffOptions, type DecayingKernel } from './clusters/cutoff.js';
export { fromMatrix, type ClusterTable, type PlacedRanges } from './clusters/from-matrix.js';
export { gridCluster } from './clusters/grid-cluster.js';
export { kMeans, type KMeansClusters, type KMeansOptions } from './clusters/k-means.js';
export { sortClusters, type SortedClusters } from './clusters/sort-clusters.js';
export {
  truncatedRanges,
  type TruncatedOptions,
  type TruncatedRanges,
} from './clusters/truncated-ranges.js';
export {
  rangesFromMatrix,
  swapAxes,
  type KeptRanges,
  type Ranges,
  type RowRange,
} from '@mercer/kernels';
export type { NonzeroOptions, SelectedPairs, SelectedPairsOut } from './selected-pairs.js';
export type { MetRanges, RangesOption } from './ranges-option.js';
export type {
  CallReduceOptions,
  DenseOptions,
  IndexDType,
  IndexOption,
  LazyAxis,
  OutDType,
  OutDTypeOption,
  ReduceOptions,
  ResultOf,
  ValuesAndIndices,
} from './reduction-types.js';
export {
  band,
  localWindow,
  lowerTriangle,
  offDiagonal,
  rowNumberI,
  rowNumberJ,
  upperTriangle,
} from './masks.js';
export type { ManyResults, ReductionSpec, ReductionSpecs } from './reduce-many.js';
export type { KindOf, ReductionName } from '@mercer/formula';
export type { ShardOptions } from '@mercer/tensor';
export type { ReductionGroup } from './shards/reduction-group.js';
export type { RowSelection } from './row-range.js';
export type { ComputeOptions, SumOptions } from './reduction-types.js';
export { withGradients, type SumWithGradients } from './with-gradients.js';

setTracedReductions(tracedReductions);
