import { isTensor } from '@mercer/tensor';
import { formatShape, isKnownResult, isTracedKnown, whenKnown } from '@mercer/tensor/operation';
import { AutodiffError } from '../autodiff-error.js';
import { isFloating } from './values.js';

/** Infinity is a value like others, as that of a mask. @param said what the value is, as `grad: exp gave` @throws AutodiffError NOT_A_NUMBER */
export async function assertNoNaN(value: unknown, said: string): Promise<void> {
  let one = (await whenKnown(value)).made;
  while (isTracedKnown(one)) one = one.primal;
  const tensor: unknown = isKnownResult(one) ? await one : one;
  if (!isTensor(tensor) || !isFloating(tensor)) return;
  using isNaN = await tensor.isNaN();
  using count = await isNaN.where(1, 0).sum();
  const wrong = Number(await count.item());
  if (wrong === 0) return;
  const { size, dtype, shape } = tensor;
  throw new AutodiffError(
    'NOT_A_NUMBER',
    `${said} NaN in ${wrong} of ${size} elements (${dtype} ${formatShape(shape)}), and nothing did before it. Look at what it reads; without detectNaN the call goes on.`,
  );
}
