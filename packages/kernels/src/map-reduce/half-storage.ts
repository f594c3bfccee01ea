import { conversionsText, prelude, type Dialect } from '../elementwise/conversion-text.js';
import type { HalfDType, MapReduceInput } from './launched-plan.js';

interface Stored {
  readonly storage?: HalfDType | undefined;
}

/** The functions that load 16-bit inputs, where there are any. */
export function halfLoads(inputs: readonly MapReduceInput[], dialect: Dialect): string {
  const types = new Set(inputs.flatMap(({ storage }) => storage ?? []));
  if (types.size === 0) return '';
  const loads = [...types].map((from) => ({ name: loadName(from), from, to: 'float32' }) as const);
  return prelude(dialect) + conversionsText(loads, dialect);
}

/** The type that 16-bit inputs have in parameters, where there are any. */
export const halfTypes = (inputs: readonly MapReduceInput[], dialect: Dialect): string =>
  inputs.some(({ storage }) => storage !== undefined) ? prelude(dialect) : '';

/** The value of an element, from the text that reads it. */
export function loaded(input: Stored, element: string): string {
  const storage = storageOf(input);
  return storage === undefined ? element : `${loadName(storage)}(${element})`;
}

/** The C++ type of an input's elements; `own` is that of the data type. */
export const elementType = (input: Stored, own: string): string =>
  storageOf(input) === undefined ? own : 'u16';

const storageOf = (input: Stored): HalfDType | undefined =>
  Object.hasOwn(input, 'storage') ? input.storage : undefined;

const loadName = (dtype: HalfDType): string => `load_${dtype}`;
