import { expect, test } from 'vitest';
import { empty, tensor } from './create.js';
import { device } from './devices.js';
import { sumTo } from './sum-to.js';
import { sumToSuite } from './testing/sum-to-suite.test-support.js';

sumToSuite('the CPU', () => device('cpu'));

const where = { device: 'cpu' } as const;

test('sumTo refuses shapes and dtypes that do not fit', async () => {
  const x = empty([2, 3], where);
  await expect(sumTo(x, [2])).rejects.toMatchObject({
    code: 'SHAPE_MISMATCH',
    message: expect.stringMatching(/\[2\] does not broadcast to .*\[2, 3\]/) as string,
  });
  await expect(sumTo(x, [1, 2, 3])).rejects.toMatchObject({ code: 'SHAPE_MISMATCH' });
  const whole = await tensor([1, 2], { dtype: 'int32', ...where });
  await expect(sumTo(whole as never, [])).rejects.toMatchObject({ code: 'DTYPE_MISMATCH' });
});
