import { isTensor } from '@mercer/tensor';
import { formatShape, isKnownResult, isTracedKnown, whenKnown } from '@mercer/tensor/operation';
import { AutodiffError } from '../autodiff-error.js';
import { isFloating } from './values.js';

/** @param said what the value is, as `grad: exp gave` @throws AutodiffError NOT_FINITE */
export async function assertFinite(value: unknown, said: string): Promise<void> {
  let one = (await whenKnown(value)).made;
  while (isTracedKnown(one)) one = one.primal;
  const tensor: unknown = isKnownResult(one) ? await one : one;
  if (!isTensor(tensor) || !isFloating(tensor)) return;
  using isFinite = await tensor.isFinite();
  using count = await isFinite.where(0, 1).sum();
  const wrong = Number(await count.item());
  if (wrong === 0) return;
  const { size, dtype, shape } = tensor;
  throw new AutodiffError(
    'NOT_FINITE',
    `${said} NaN or infinity in ${wrong} of ${size} elements (${dtype} ${formatShape(shape)}), and nothing did before it. Look at what it reads; without detectNaN the call goes on.`,
  );
}
