import { tensor, device, runKernelBackward, kernels, cdistBackward } from '@mercer/core';
const a = await tensor([[0,1],[2,3.5]], { device:'cpu', dtype:'float64'});
const g = await tensor([[1,2],[3,4]], { device:'cpu', dtype:'float64'});
console.log(device('cpu').memory());
const r = await runKernelBackward(kernels.gaussian, g, a, {bandwidth:2, wrt:['a','bandwidth']});
console.log(await r.a.toNested(), await r.bandwidth.toNested());
const t = await tensor(new Float64Array([1,2,3,4,5,6]), {shape:[2,3], device:'cpu'});
console.log(await t.transpose().toNested(), await t.flip().toNested(), await t.slice([0,1],[0,3,2]).toNested());
for (const d in kernels) console.log(d);
