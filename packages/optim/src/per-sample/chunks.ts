import type { Tensor } from '@mercer/tensor';
import { dropoutOfRows } from '../layers/dropout.js';
import type { ClassLossArguments } from '../losses/class-losses.js';
import type { Instead } from '../statistics/observed.js';

/** Why rules are not enough. */
export class NotByRules extends Error {}

/** Examples from one place to another, of all. */
export interface Chunk {
  readonly start: number;
  readonly stop: number;
  readonly count: number;
}

/** Operations whose results of an example must not depend on the chunk that it is in. */
export function insteadOf({ start, stop, count }: Chunk): Readonly<Record<string, Instead>> {
  const loss =
    (name: string): Instead =>
    (args, call) => {
      const [, , weights, { ignoreIndex, reduction }] = args as ClassLossArguments;
      if (reduction !== 'mean' || (weights ?? ignoreIndex) === undefined) return call(...args);
      const option = weights === undefined ? 'ignoreIndex' : 'classWeights';
      throw new NotByRules(
        `the mean of ${name} with ${option} counts the labels of all examples, so that one's gradient depends on the others: with reduction 'sum', here too, it does not`,
      );
    };
  return {
    crossEntropy: loss('crossEntropy'),
    nll: loss('nll'),
    dropout: (args, call) => {
      if (stop - start === count) return call(...args);
      const [x, rate, key] = args as Parameters<typeof dropoutOfRows>;
      if ((x as Tensor).shape[0] === stop - start) {
        return dropoutOfRows(x, rate, key, { start, of: count });
      }
      throw new NotByRules('dropout has no examples along axis 0');
    },
  };
}
