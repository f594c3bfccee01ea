import { tensor, runKernelBackward, runKernel, kernelDescriptor } from '@mercer/core';
const d=kernelDescriptor({innerOperator:'diff',innerPower:'none',outerPower:'none',kernel:'gaussian'});
const T=(x)=>tensor(x,{ device:'cpu', dtype:'float64'});
const a=await T([[0],[1]]), g=await T([[1,1],[1,1]]);
for (const e of [undefined,0,0.5]) { const f=async(x)=>(await runKernel(d,await T([[0],[x]]),{bandwidth:1,epsilon:e})).toNested();
console.log(e, JSON.stringify([await f(1),await f(1.00001)])); console.log(await (await runKernelBackward(d,g,a,{bandwidth:1,epsilon:e})).a.toNested(), await (await runKernelBackward(d,g,a,a.view(),{bandwidth:1,epsilon:e})).a.toNested(),await (await runKernelBackward(d,g,a,a.view(),{bandwidth:1,epsilon:e,wrt:['b']})).b.toNested()); }
const o=kernelDescriptor({innerOperator:'diff',innerPower:'none',outerPower:'pow',kernel:'none'});
const x=await T([[1],[2]]), y=await T([[0]]); const g2=await T([[1],[10]]);
for (const p of [1,2,3,0.5,1.5]) { const r=await runKernelBackward(o,g2,x,y,{p,wrt:['a','p']}); const r2=await runKernelBackward(o,g2,x,y,{p:await T(p),wrt:['a','p']}); console.log(p, await (await runKernel(o,x,y,{p})).toNested(),await (await runKernel(o,x,y,{p:await T(p)})).toNested(), await r.a.toNested(), await r.p.toNested(), await r2.a.toNested(), await r2.p.toNested()); }
