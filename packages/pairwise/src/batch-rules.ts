import { isTensor } from '@mercer/tensor';
import {
  exampleShape,
  flatArguments,
  inFront,
  isTraced,
  nestedLike,
  spreadOver,
  type BatchRule,
  type KnownValue,
} from '@mercer/tensor/operation';

const isValue = (one: unknown): one is KnownValue => isTensor(one) || isTraced(one);

/** Matrices whose batch axes broadcast. Rows of the host may have such axes too, and tensors among the options, which no rule counts. */
export const ofRows: BatchRule<readonly unknown[]> = (call) => {
  const all = flatArguments(call.args).filter(isValue).length;
  const rows = call.args.filter(isValue).length;
  const isOnHost = call.args.some((one) => Array.isArray(one) || ArrayBuffer.isView(one));
  return isOnHost || all > rows ? undefined : inFront(2)(call as never);
};

/** Gradients by rows. Those of what all examples share, and of parameters, would be sums over the examples: rows are repeated, and others left out. */
export const ofRowGradients: BatchRule<readonly unknown[]> = (call) => {
  const { args, mapped, size } = call;
  const options = args.at(-1) as { readonly wrt?: readonly unknown[] } | undefined;
  const wrt = isValue(options) ? undefined : options?.wrt;
  if (wrt?.every((name) => name === 'a' || name === 'b') !== true) return undefined;
  const are = flatArguments(mapped);
  const shared = flatArguments(args).filter((one, at) => isValue(one) && are[at] !== true);
  // one tensor as both rows has one gradient
  if (new Set(shared).size < shared.length) return undefined;
  // nor are gradients of rows without batch axes, where others have some, of the shape of the rows
  const ranks = flatArguments(args).flatMap((one, at) =>
    isValue(one) ? exampleShape(one, are[at]).length : [],
  );
  if (new Set(ranks).size > 1) return undefined;
  const given = flatArguments(args).map((one, at) =>
    isValue(one) ? spreadOver(one, are[at], size) : one,
  );
  const whole = nestedLike(args, given);
  return ofRows({ ...call, args: whole, mapped: nestedLike(args, given.map(isValue)) });
};
