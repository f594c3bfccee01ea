import { isTensor, type RowReader } from '@mercer/tensor';
import type { Input } from './input.js';

/** Whether data is rows that are read as they are needed, such as `openNpy` gives. */
export const isRowReader = (data: unknown): data is RowReader =>
  typeof data === 'object' && data !== null && !isTensor(data) && 'readRows' in data;

/** Whether inputs, or arguments for their placeholders, are rows that are read as they are needed. */
export const readsRows = (
  inputs: readonly Pick<Input, 'source'>[],
  args: readonly unknown[],
): boolean =>
  inputs.some(({ source }) => source.kind === 'data' && isRowReader(source.data)) ||
  // what is no list is refused where it is bound
  (Array.isArray(args) && args.some(isRowReader));
