import { tensor, runKernelBackward, runKernel, kernels, cdistBackward } from '@mercer/core';
const T=(x)=>tensor(x,{ device:'cpu', dtype:'float64'});
const a = await T([[0.5,1],[2,3.5]]), b=await T([[0,1],[2,5.5]]), g=await T([[1,2],[3,4]]);
const t=async(n,f)=>{ try { const r=await f(); if(r.toNested){console.log(n,JSON.stringify(await r.toNested()));return;} const o={}; for(const k in r) o[k]=[r[k]?.shape,await r[k]?.toNested()]; console.log(n,JSON.stringify(o)); } catch(e){ console.log(n,'ERR',e.code,e.message); } };
const g1=await T([1]);
await t('degree0 gamma tensor wrt degree',()=>runKernelBackward(kernels.polynomial,g,a,b,{gamma:g1,offset:0.5,degree:0,wrt:['degree']}));
await t('degree0 offset tensor wrt degree',()=>runKernelBackward(kernels.polynomial,g,a,b,{gamma:1,offset:g1,degree:0,wrt:['a','degree']}));
await t('degree0 numbers wrt degree',()=>runKernelBackward(kernels.polynomial,g,a,b,{gamma:1,offset:1,degree:0,wrt:['degree']}));
await t('degree1 gamma tensor wrt degree',()=>runKernelBackward(kernels.polynomial,g,a,b,{gamma:g1,offset:1,degree:1,wrt:['degree']}));
await t('degree0 gamma tensor wrt a',()=>runKernelBackward(kernels.polynomial,g,a,b,{gamma:g1,offset:1,degree:0,wrt:['a','gamma']}));
const gb=await T([1,2]), gbat=await T([[[1,2],[3,4]],[[1,2],[3,4]]]);
await t('degree0 fwd gamma [2]',()=>runKernel(kernels.polynomial,a,b,{gamma:gb,offset:1,degree:0}));
await t('degree0 gamma [2] wrt degree',()=>runKernelBackward(kernels.polynomial,g,a,b,{gamma:gb,offset:1,degree:0,wrt:['degree']}));
await t('degree0 gamma [2] wrt degree batch g',()=>runKernelBackward(kernels.polynomial,gbat,a,b,{gamma:gb,offset:1,degree:0,wrt:['degree']}));
const sc=(await T([[1,9,2,9]])).slice([0,1],[0,4,2]); const s0=await T([[1,2]]);
console.log(sc.shape,sc.strides);
for (const [n,s] of [['plain',s0],['strided',sc],['flip',s0.flip([1])]]) { await t('fwd scale '+n,()=>runKernel(kernels.gaussian,a,b,{bandwidth:1,scale:s})); await t('bwd scale '+n,()=>runKernelBackward(kernels.gaussian,g,a,b,{bandwidth:1,scale:s,wrt:['a','scale']})); }
const s1=(await T([1,2])).flip(); await t('fwd scale [2] flip',()=>runKernel(kernels.gaussian,a,b,{bandwidth:1,scale:s1})); await t('bwd scale [2] flip',()=>runKernelBackward(kernels.gaussian,g,a,b,{bandwidth:1,scale:s1,wrt:['a','scale']}));
