/**
 * .safetensors files.
 *
 * @packageDocumentation
 */
export * from '@mercer/tensor/safetensors';
