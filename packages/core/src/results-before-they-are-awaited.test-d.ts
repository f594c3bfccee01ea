import { expectTypeOf, it } from 'vitest';
import { cdist, lazyI, lazyJ, tensor, type PendingTensor, type Tensor } from './index.js';

it('has the types of its tensor', () => {
  const a = null as unknown as Tensor<'float32'>;
  const result = cdist(a, a);
  expectTypeOf(result).toEqualTypeOf<PendingTensor<'float32'>>();
  expectTypeOf(a.matmul(a).cast('float64')).toEqualTypeOf<PendingTensor<'float64'>>();
  expectTypeOf(tensor([1], { device: 'cpu' }).item()).toExtend<Promise<unknown>>();
  expectTypeOf(lazyI(a).sqdist(lazyJ(a)).sum('j')).toEqualTypeOf<PendingTensor<'float32'>>();
  expectTypeOf(lazyI(a).sqdist(lazyJ(a)).matmul(a).transpose().toTypedArray()).toEqualTypeOf<
    ReturnType<Tensor<'float32'>['toTypedArray']>
  >();
});
