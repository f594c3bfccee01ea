import type { Tensor } from '@mercer/tensor';

/** What one layer saw and what came back to it in one pass over a batch of `N` examples: the statistics from which Kronecker factors and gradients of single examples are made. */
export interface LayerStatistics {
  readonly kind: 'linear' | 'conv2d';
  /** What the layer was given: (N, .., in) for a linear layer, (N, channels, height, width) for a convolution. */
  readonly inputs: Tensor;
  /** The derivative of the loss by the layer's output, of the output's shape; the loss is the mean over the examples, so that each row is 1/N of its example's. */
  readonly outputGradients: Tensor;
  /** Where the layer's weight stands in the tree of parameters, such as `layers[0].weight`. */
  readonly weight: string;
  /** Where its bias stands, if it has one. */
  readonly bias?: string;
  /** Of a convolution: how the kernel moves. Pairs are of the height and the width. */
  readonly window?: {
    readonly kernel: readonly [number, number];
    readonly stride: readonly [number, number];
    readonly padding: readonly [number, number];
    /** Default: [1, 1]. */
    readonly dilation?: readonly [number, number];
    /** Default: 1. */
    readonly groups?: number;
  };
}

/** Statistics by layer, in the order in which the layers ran. */
export type Statistics = readonly LayerStatistics[];
