import type { OptionNames } from '@mercer/options';
import { MercerError, random } from '@mercer/tensor';
import { readOptions, type KnownValue, type Value } from '@mercer/tensor/operation';
import { checkNumber } from '../checks.js';
import { checkTensor, layerOperation } from './layer-operation.js';
import { readContext, type Layer, type NoParams } from './layer.js';

/** Rows of a larger tensor. */
interface RowsOf {
  /** The first of them. */
  readonly start: number;
  /** How many the larger one has. */
  readonly of: number;
}

async function dropped(
  x: KnownValue,
  rate: number,
  key: random.RandomKey,
  rows?: RowsOf,
): Promise<Value> {
  checkTensor(x, 'dropout: x');
  checkNumber(rate, 'dropout', 'rate', 0, 1);
  if (rate === 0) return x.view();
  const { device, shape } = x;
  const [count = 0, ...rest] = shape;
  // of 24 bits: 0 with exactly the probability, rounded up to a multiple of 2^-24
  using drawn = await random.uniform(rows === undefined ? [...shape] : [rows.of, ...rest], {
    key,
    device,
  });
  using own = rows === undefined ? drawn.view() : drawn.slice([rows.start, rows.start + count]);
  const kept = rate === 1 ? 0 : 1 / (1 - rate);
  return await own.ge(rate).where(x.mul(kept), 0);
}

/** The function of {@link dropout} in training: elements are 0 with the probability `rate`, by the key, and others divided by `1 - rate`. */
export const dropoutFunction = layerOperation(
  'dropout',
  (x: KnownValue, rate: number, key: random.RandomKey): Promise<Value> => dropped(x, rate, key),
);

/** The same of rows of a larger tensor: they drop what they would drop in it. */
export const dropoutOfRows = layerOperation('dropout of rows', dropped);

/** Options of {@link dropout}. */
export interface DropoutOptions {
  /** The probability with which an element is 0. Default: 0.5. */
  readonly rate?: number | undefined;
}

const DROPOUT: OptionNames<DropoutOptions> = { rate: true };

/**
 * Dropout (Srivastava et al. 2014): in training elements are 0 with the probability `rate`, and the others divided by `1 - rate`. Which ones is a function of the key in the
 * context, the same on every device. Otherwise it is x itself. Inside `vmap` all examples drop the same elements.
 *
 * @throws MercerError INVALID_ARGUMENT, also of apply in training without a key
 */
export function dropout(options: DropoutOptions = {}): Layer {
  const what = 'dropout';
  const { rate = 0.5 } = readOptions(what, options, DROPOUT);
  checkNumber(rate, what, 'rate', 0, 1);
  return {
    name: what,
    init: async () => Promise.resolve<NoParams>({}),
    apply: (_params, x, context) => {
      const { training = false, key } = readContext(what, context);
      if (!training) return x;
      if (key === undefined) {
        throw new MercerError(
          'INVALID_ARGUMENT',
          `${what}: in training there is no key. Pass { key } with one from random.foldIn(key, step), so that each step drops others.`,
        );
      }
      return dropoutFunction(x, rate, key);
    },
  };
}
