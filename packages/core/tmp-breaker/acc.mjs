// float32 vs float64 reference over many kernels, sizes large k
import { tensor, device, runKernelBackward, runKernel, kernels, cdistBackward, rng, arr } from './lib.mjs';
const r=rng(3); const mk=(n,f=r.normal)=>Float64Array.from({length:n},()=>Math.fround(f()));
for(const [m,n,k] of [[3,4,3000],[1,1,3000],[40,30,7],[5,300,1],[2,2,20000]]) {
 const A=mk(m*k),B=mk(n*k),G=mk(m*n);
 const t=(v,s,d)=>tensor(d==='float64'?v:Float32Array.from(v),{shape:s,dtype:d,device:'cpu'});
 const sq=Math.sqrt(k);
 for(const name of [...Object.keys(kernels),'cdist1.3','cdist3','cdist20','cdist0.5','cdistInf','cdist3s']) {
  const res={};
  for(const d of ['float64','float32']) { const [a,b,g]=[await t(A,[m,k],d),await t(B,[n,k],d),await t(G,[m,n],d)]; let q;
   if(name.startsWith('cdist')) { const s=name.endsWith('s'); const p=name==='cdistInf'?Infinity:parseFloat(name.slice(5)); q=await cdistBackward(g,a,b,{p,skipEpilogue:s,wrt:p===Infinity?['a','b']:['a','b','p']}); }
   else { const kn=kernels[name]; let o={}; if(!['manhattan','euclidean','minkowski','dot','cosine','polynomial','sigmoid'].includes(name)) o.bandwidth=Math.fround(name==='laplace'?k:2*sq); if(name==='rationalQuadratic') o.alpha=0.5; if(name==='polynomial') o={gamma:Math.fround(1/k),offset:1,degree:3}; if(name==='sigmoid') o={gamma:Math.fround(1/k),offset:0.25}; if(name==='minkowski') o.p=2.5; const wrt=['a','b',...Object.keys(o)]; if(k<100){ o.scale=0.75; wrt.push('scale'); } q=await runKernelBackward(kn,g,a,b,{...o,wrt}); }
   res[d]={}; for(const x in q) res[d][x]=await arr(q[x]); }
  const line=[]; for(const x in res.float64){ const ref=res.float64[x],got=res.float32[x]; const mx=Math.max(...ref.map(Math.abs)); const e=Math.max(...ref.map((v,i)=>Math.abs(v-got[i]))); const u=e/mx/2**-24; line.push(x+':'+u.toFixed(1)+(u>60||!Number.isFinite(u)?' <<<<< '+mx:'')); } console.log(m,n,k,name,line.join(' ')); } }
