import { DTYPES } from '../dtype.js';
import type { KernelParam } from '../kernel-param.js';
import type { UserKernel } from './user-kernel.js';

/** Kernels as users write them: pointers to all dtypes, and scalars among halves. */
export function userKernels(): readonly [UserKernel, UserKernel] {
  const pointers = DTYPES.flatMap((dtype): KernelParam[] => [
    { name: `x_${dtype}`, kind: 'pointer', dtype, access: 'read' },
    { name: `y_${dtype}`, kind: 'pointer', dtype, access: 'write' },
  ]);
  const copies = DTYPES.map((dtype) =>
    dtype.endsWith('float16')
      ? `y_${dtype}[0] = to_${dtype}(from_${dtype}(x_${dtype}[0]));`
      : `y_${dtype}[0] = x_${dtype}[0];`,
  );
  return [
    { name: 'copies', params: pointers, helpers: '', body: copies.join('\n') },
    {
      name: 'mixed',
      params: [
        { name: 'n', kind: 'scalar', type: 'int32' },
        { name: 'x', kind: 'pointer', dtype: 'float16', access: 'read' },
        { name: 'scale', kind: 'scalar', type: 'float64' },
        { name: 'count', kind: 'pointer', dtype: 'int64', access: 'write' },
      ],
      helpers: '#define ONE 1',
      body: 'count[0] = ONE + n * (i64)(scale * from_float16(x[0]));',
    },
  ];
}
