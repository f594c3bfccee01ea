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
  type MappedCall,
} from '@mercer/tensor/operation';

const isValue = (one: unknown): one is KnownValue => isTensor(one) || isTraced(one);

/** How many axes a tensor of an example has beyond those that it has of its own. */
type OwnAxes = (at: number, among: readonly unknown[]) => number;

/** Rows are matrices; a scale among the options is a vector, and a parameter a number. */
const ownAxes =
  (args: readonly unknown[]): OwnAxes =>
  (at, flat) => {
    const one = flat[at];
    if (args.includes(one)) return 2;
    const options = args.at(-1) as Readonly<Record<string, unknown>>;
    return options['scale'] === one ? 1 : 0;
  };

/** Whether no example has batch axes of its own. */
function areSingle({ args, mapped }: MappedCall<readonly unknown[]>): boolean {
  const flat = flatArguments(args);
  const are = flatArguments(mapped);
  const own = ownAxes(args);
  return flat.every(
    (one, at) => !isValue(one) || exampleShape(one, are[at]).length === own(at, flat),
  );
}

/** Matrices whose batch axes broadcast. Rows of the host may have such axes too; tensors among the options have none, or the rule does not count them. */
export const ofRows: BatchRule<readonly unknown[]> = (call) => {
  const { args } = call;
  const isOnHost = args.some((one) => Array.isArray(one) || ArrayBuffer.isView(one));
  if (isOnHost) return undefined;
  const all = flatArguments(args).filter(isValue).length;
  if (all === args.filter(isValue).length) return inFront(2)(call as never);
  return areSingle(call) ? call.call(...(args as never[])) : undefined;
};

/** Gradients. Those of what all examples share would be sums over the examples: it is repeated first. A number has one gradient. */
export const ofRowGradients: BatchRule<readonly unknown[]> = (call) => {
  const { args, mapped, size } = call;
  const last = args.at(-1);
  const options = isValue(last) ? undefined : (last as Readonly<Record<string, unknown>>);
  // by rows where nothing is said
  const names = (options?.['wrt'] ?? []) as readonly string[];
  const isOfTensors =
    Array.isArray(names) &&
    names.every((name: string) => name === 'a' || name === 'b' || isValue(options?.[name]));
  if (!isOfTensors || !areSingle(call)) return undefined;
  const are = flatArguments(mapped);
  const shared = flatArguments(args).filter((one, at) => isValue(one) && are[at] !== true);
  // one tensor as both rows has one gradient
  if (new Set(shared).size < shared.length) return undefined;
  const given = flatArguments(args).map((one, at) =>
    isValue(one) ? spreadOver(one, are[at], size) : one,
  );
  return call.call(...(nestedLike(args, given) as never[]));
};
