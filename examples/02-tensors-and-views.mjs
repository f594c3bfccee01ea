// 2. Tensors and views. A tensor lives on a device; slices and transposes are views of the same memory, and cdist reads
//    them where they lie. Reading back is always explicit.
import { cdist, memory, scope, tensor } from '@mercer/core';

await scope(async (s) => {
  const table = s.track(
    await tensor(
      Float32Array.from({ length: 24 }, (_, i) => i),
      { shape: [4, 6] },
    ),
  );
  const left = s.track(table.slice(null, [0, 3])); // columns 0, 1, 2: no copy
  const right = s.track(table.slice(null, [3, 6])); // columns 3, 4, 5
  console.log(String(left), 'strides', left.strides);

  const distances = s.track(await cdist(left, right, { p: 1 }));
  console.log('rows of the left half to rows of the right half:');
  console.table(await distances.toNested());

  const [leftColumns, rightColumns] = [s.track(left.transpose()), s.track(right.transpose())];
  const columns = s.track(await cdist(leftColumns, rightColumns, { p: 1 }));
  console.log('columns to columns:', (await columns.toTypedArray()).subarray(0, 3));

  const exact = s.track(await table.cast('float64'));
  console.log('as float64:', (await exact.toTypedArray()).slice(0, 3));
});
const [device] = memory().devices;
console.log(
  `${device?.liveBytes ?? 0} bytes live after the scope, ${device?.peakBytes ?? 0} at the peak`,
);
