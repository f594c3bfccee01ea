import { outputsOf, type Reduction, type ReductionKind } from '@mercer/formula';
import { isTensor, MercerError, type Tensor } from '@mercer/tensor';
import { pendingCall, promiseOf } from '@mercer/tensor/operation';
import { describeValue, own, refusePromise } from '@mercer/options';
import { LazyError } from './lazy-error.js';
import { asTensors, NO_RESULTS, type Results } from './results.js';
import type { JointTask } from './task.js';
import type {
  BothKind,
  IndexDType,
  OutDType,
  PendingResult,
  ResultOf,
  ValuesAndIndices,
} from './reduction-types.js';

/** Results as their kind gives them. */
export function asResult<
  K extends ReductionKind,
  D extends OutDType,
  I extends IndexDType = 'int32',
>({ value, index }: Results): ResultOf<K, D, I> {
  const result =
    value === undefined ? index : index === undefined ? value : { values: value, indices: index };
  return result as ResultOf<K, D, I>;
}

const BOTH: Readonly<Record<BothKind, true>> = {
  MinArgMin: true,
  MaxArgMax: true,
  KMinArgKMin: true,
  KMaxArgKMax: true,
};

/** The promise of a result of a kind; of one tensor, with the tensor's methods. */
export function promised<K extends ReductionKind, D extends OutDType, I extends IndexDType>(
  kind: K,
  compute: () => ResultOf<K, D, I> | Promise<ResultOf<K, D, I>>,
): PendingResult<ResultOf<K, D, I>> {
  const result = Object.hasOwn(BOTH, kind) ? promiseOf(compute) : pendingCall(compute);
  return result as PendingResult<ResultOf<K, D, I>>;
}

/** The caller's `out` by what it takes. @throws MercerError INVALID_ARGUMENT */
export function asOut(what: string, reduction: Reduction, out: unknown): Results | undefined {
  if (out === undefined) return undefined;
  refusePromise(out, `${what}: out`);
  const [first, second] = outputsOf(reduction).map(({ name }) => name);
  if (second === undefined && isTensor(out)) return { ...NO_RESULTS, [first ?? 'value']: out };
  if (second !== undefined && typeof out === 'object' && out !== null && !isTensor(out)) {
    const { values, indices } = own(out as Partial<ValuesAndIndices>, 'values', 'indices');
    return { value: values, index: indices };
  }
  const wanted = second === undefined ? 'a tensor' : 'an object { values, indices } of two tensors';
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: out is not ${wanted}, but ${describeValue(out)}. Pass ${wanted}, for example from empty(shape).`,
  );
}

/** The same for a task, which may have several by their names: the tensors that it takes, by result. @throws LazyError, MercerError */
export function asOuts(task: JointTask, out: unknown): readonly (Tensor | undefined)[] {
  const { what, reductions, names } = task;
  if (out === undefined || names === undefined) {
    return asTensors(reductions, [asOut(what, reductions[0], out)]);
  }
  if (typeof out !== 'object' || out === null) {
    throw new LazyError(
      'INVALID_ARGUMENT',
      `${what}: out is ${describeValue(out)}. Pass an object with some of ${names.join(', ')}.`,
    );
  }
  const given = own(out as Readonly<Record<string, unknown>>, ...names);
  const other = Object.keys(out).find((name) => !names.includes(name));
  if (other !== undefined) {
    throw new LazyError(
      'INVALID_ARGUMENT',
      `${what}: out has '${other}', and the results are ${names.join(', ')}. Pass tensors under these names.`,
    );
  }
  const results = reductions.map((one, at) => {
    const name = names[at] ?? '';
    return asOut(`${what}: ${name}`, one, given[name]);
  });
  return asTensors(reductions, results);
}
