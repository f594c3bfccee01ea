/**
 * Layers of networks: pairs of functions over plain trees of tensors.
 *
 * @packageDocumentation
 */
export {
  activation,
  flatten,
  gelu,
  relu,
  sigmoid,
  silu,
  softmax,
  softplus,
  tanh,
} from './activations.js';
export {
  multiHeadAttention,
  type AttentionOptions,
  type AttentionParams,
  type MultiHeadAttentionOptions,
} from './attention.js';
export {
  batchNorm,
  type BatchNorm,
  type BatchNormOptions,
  type BatchNormState,
} from './batch-norm.js';
export { conv1d, conv2d, type ConvolutionOptions, type ConvolutionSteps } from './convolution.js';
export { dropout, type DropoutOptions } from './dropout.js';
export { embedding, type EmbeddingOptions } from './embedding.js';
export { layerNorm, type Affine, type LayerNormOptions } from './layer-norm.js';
export {
  withState,
  type Layer,
  type LayerContext,
  type NoParams,
  type Output,
  type ParamsOf,
  type Placement,
} from './layer.js';
export { linear, type LinearOptions, type Weights } from './linear.js';
export { averagePool2d, maxPool2d, type PoolingOptions } from './pooling.js';
export {
  sequential,
  type Sequential,
  type SequentialParams,
  type SequentialState,
} from './sequential.js';
export {
  loadWeights,
  saveWeights,
  type LoadedWeights,
  type LoadWeightsOptions,
  type SaveWeightsOptions,
} from './weights.js';
