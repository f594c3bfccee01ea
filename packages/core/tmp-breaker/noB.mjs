import { tensor, runKernelBackward, kernels, cdistBackward } from '@mercer/core';
const a = await tensor([[0,1],[2,3.5]], { device:'cpu', dtype:'float64'});
const b = await tensor([[0,1],[2,5.5]], { device:'cpu', dtype:'float64'});
const g = await tensor([[1,2],[3,4]], { device:'cpu', dtype:'float64'});
const t=async(n,f)=>{ try { const r=await f(); const o={}; for(const k in r) o[k]=[r[k]?.shape,await r[k]?.toNested()]; console.log(n,JSON.stringify(o)); } catch(e){ console.log(n,'ERR',e.code,e.message); } };
for(let i=0;i<5;i++){ const x=await tensor(new Float64Array([7+i]),{device:'cpu'}); x.dispose(); }
await t('rkb',async()=>{ const p=await runKernelBackward.prepare(kernels.gaussian,g,a,b,{bandwidth:2,wrt:['b']}); return p(g,a); });
await t('rkb scale',async()=>{ const p=await runKernelBackward.prepare(kernels.cosine,g,a,b,{scale:2,wrt:['b','scale']}); return p(g,a); });
await t('rkb bw,b',async()=>{ const p=await runKernelBackward.prepare(kernels.gaussian,g,a,b,{bandwidth:2,wrt:['b','bandwidth']}); return p(g,a); });
await t('cdist',async()=>{ const p=await cdistBackward.prepare(g,a,b,{wrt:['b']}); return p(g,a); });
await t('cdist options as b',async()=>{ const p=await cdistBackward.prepare(g,a,b,{wrt:['b']}); return p(g,a,{}); });
await t('rkb out',async()=>{ const p=await runKernelBackward.prepare(kernels.gaussian,g,a,b,{bandwidth:2,wrt:['b']}); return p(g,a,undefined,{out:{b:await tensor([[1,1],[1,1]],{device:'cpu',dtype:'float64'})}}); });
