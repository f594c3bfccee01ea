import { isTensor, type Tensor } from '@mercer/tensor';
import { isTraced, promisesTraced, Traced, type Value } from '@mercer/tensor/operation';
import type { Input } from './input.js';
import { viewed } from './traced-views.js';

/** A tensor, or a value that stands for one in a function that is differentiated. */
export const isTensorLike = (value: unknown): value is Tensor =>
  isTensor(value) || value instanceof Traced;

/** Whether inputs, or arguments for their placeholders, hold traced values. */
export function holdTraced(
  inputs: readonly Pick<Input, 'source'>[],
  args: readonly unknown[] = [],
): boolean {
  for (const { source } of inputs) {
    if (source.kind === 'tensor' && isTraced(source.tensor)) return true;
  }
  // what is no list is refused where it is bound
  return Array.isArray(args) && args.some((one) => one instanceof Traced);
}

/** Whether a trace differentiates by what an input holds, and may have more computed with the value. Inside a rule all values are traced, and mostly for their memory alone. */
export function isDifferentiated({ source }: Pick<Input, 'source'>): boolean {
  let value: unknown = source.kind === 'tensor' ? source.tensor : undefined;
  while (value instanceof Traced) {
    const { record, trace } = value;
    if (record !== undefined && trace.wantsSlopes === true) return true;
    value = value.primal;
  }
  return false;
}

/** Inputs of which those that no formula reads hold what their values stand for: nothing depends on their elements. */
export const untracedUnless = (isRead: ReadonlySet<number>, inputs: readonly Input[]): Input[] =>
  inputs.map((one, place) => {
    const { source } = one;
    if (source.kind !== 'tensor' || isRead.has(place)) return one;
    let value: unknown = source.tensor;
    while (value instanceof Traced && value.trace.hiddenAxes === undefined) value = value.primal;
    return { ...one, source: { kind: 'tensor', tensor: value as Tensor } };
  });

/** What is made of a value, at once where that is there. The promise of a traced value stays one. */
export function mapped<T, U>(
  found: T | Promise<T>,
  make: (found: T) => U | Promise<U>,
): U | Promise<U> {
  if (!(found instanceof Promise)) return make(found);
  const made = found.then(make);
  return isTraced(found) ? promisesTraced(made) : made;
}

/** Inputs without their tensors, which a trace keeps. */
export interface InputsApart {
  /** Each input's own, in their order. */
  readonly tensors: readonly Tensor[];
  /** Of each input the place of its tensor; undefined where it has data of the host. */
  readonly places: readonly (number | undefined)[];
  readonly inputs: readonly Input[];
  /** The inputs with other tensors in those places. */
  readonly bind: (tensors: readonly Tensor[]) => readonly Input[];
}

/** The tensors of inputs apart from all else that is known of them. */
export function tensorsApart(inputs: readonly Input[]): InputsApart {
  const tensors: Value[] = [];
  const places: (number | undefined)[] = [];
  const others = inputs.map(viewed).map(({ input, value }): Input => {
    const position = value === undefined ? undefined : tensors.push(value) - 1;
    places.push(position);
    return position === undefined ? input : { ...input, source: { kind: 'placeholder', position } };
  });
  const bind: InputsApart['bind'] = (given) =>
    others.map((one) => {
      const tensor = one.source.kind === 'placeholder' ? given[one.source.position] : undefined;
      return tensor === undefined ? one : { ...one, source: { kind: 'tensor', tensor } };
    });
  return { tensors: tensors as readonly Tensor[], places, inputs: others, bind };
}
