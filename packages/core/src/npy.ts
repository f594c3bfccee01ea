/**
 * numpy's .npy and .npz files.
 *
 * @packageDocumentation
 */
export * from '@mercer/tensor/npy';
