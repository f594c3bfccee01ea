import { isRowReader } from '@mercer/tensor/operation';
import type { Input } from './input.js';

/** Whether inputs, or arguments for their placeholders, are rows that are read as they are needed. */
export function readsRows(
  inputs: readonly Pick<Input, 'source'>[],
  args: readonly unknown[],
): boolean {
  for (const { source } of inputs) {
    if (source.kind === 'data' && isRowReader(source.data)) return true;
  }
  // what is no list is refused where it is bound
  return Array.isArray(args) && args.some(isRowReader);
}
