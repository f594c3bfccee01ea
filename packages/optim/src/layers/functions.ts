/**
 * The functions of layers, for networks of one's own: tensors in, a tensor out.
 *
 * @packageDocumentation
 */
export { attention } from './attention.js';
export { conv1dFunction as conv1d, conv2dFunction as conv2d } from './convolution.js';
export { dropoutFunction as dropout } from './dropout.js';
export { embeddingFunction as embedding } from './embedding.js';
export { linearFunction as linear } from './linear.js';
