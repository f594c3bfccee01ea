import { isRowReader } from '@mercer/tensor/operation';
import type { Input } from './input.js';

/** Whether inputs, or arguments for their placeholders, are rows that are read as they are needed. */
export const readsRows = (
  inputs: readonly Pick<Input, 'source'>[],
  args: readonly unknown[],
): boolean =>
  inputs.some(({ source }) => source.kind === 'data' && isRowReader(source.data)) ||
  // what is no list is refused where it is bound
  (Array.isArray(args) && args.some(isRowReader));
