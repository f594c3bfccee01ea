import * as M from '@mercer/core';
export const { tensor, device, runKernelBackward, runKernel, cdist, kernels, cdistBackward, kernelDescriptor, customKernel, formula } = M;
export function rng(seed){ let s=seed>>>0; const u=()=>{ s=(s+0x6D2B79F5)>>>0; let t=s; t=Math.imul(t^(t>>>15),t|1); t^=t+Math.imul(t^(t>>>7),t|61); return ((t^(t>>>14))>>>0)/4294967296; };
 u.int=(a,b)=>a+Math.floor(u()*(b-a+1)); u.pick=(l)=>l[Math.floor(u()*l.length)]; u.normal=()=>Math.sqrt(-2*Math.log(1-u()))*Math.cos(2*Math.PI*u()); return u; }
export const size=(s)=>s.reduce((x,y)=>x*y,1);
export function gen(r, shape, draw, bcast=0){ // values row-major; with prob bcast axes constant
  const flags=shape.map(()=>r()<bcast);
  const small=shape.map((n,i)=>flags[i]&&n>0?1:n); const sv=Float64Array.from({length:size(small)},draw);
  const out=new Float64Array(size(shape)); const idx=shape.map(()=>0);
  for(let f=0;f<out.length;f++){ let rem=f; let at=0; const id=[]; for(let i=shape.length-1;i>=0;i--){ id[i]=rem%shape[i]; rem=Math.floor(rem/shape[i]); } for(let i=0;i<shape.length;i++) at=at*small[i]+(flags[i]?0:id[i]); out[f]=sv[at]; }
  return {shape,values:out,flags};
}
export async function place(r, x, dtype, lay){ // random layout
  const {shape,values}=x; const rank=shape.length; const flags=x.flags??shape.map(()=>false);
  lay ??= layoutFor(r,x);
  if(lay===null) return tensor(dtype==='float64'?values:Float32Array.from(values),{shape,dtype,device:'cpu'});
  const {perm,steps,pads,offs,flips,useB}=lay;
  const ex=shape.map((n,i)=>useB&&flags[i]&&n>0?1:n);
  const stor=perm.map(i=>ex[i]*steps[i]+pads[i]+offs[i]);
  const arr=new Float64Array(size(stor)).fill(NaN);
  const n=size(ex);
  for(let f=0;f<n;f++){ let rem=f; const id=[]; for(let i=rank-1;i>=0;i--){ id[i]=rem%ex[i]; rem=Math.floor(rem/ex[i]); }
    let src=0; for(let i=0;i<rank;i++) src=src*shape[i]+id[i];
    let at=0; for(let q=0;q<rank;q++){ const i=perm[q]; const pos=flips[i]?ex[i]-1-id[i]:id[i]; at=at*stor[q]+offs[i]+pos*steps[i]; }
    arr[at]=values[src]; }
  let t=await tensor(dtype==='float64'?arr:Float32Array.from(arr),{shape:stor,dtype,device:'cpu'});
  const base=t; const tmp=[t];
  const inv=[]; perm.forEach((i,q)=>inv[i]=q);
  if(rank>0){ t=t.permute(inv); tmp.push(t); t=t.slice(...ex.map((n,i)=>[offs[i],offs[i]+n*steps[i],steps[i]])); tmp.push(t);
   const fl=flips.flatMap((f,i)=>f?[i]:[]); if(fl.length){ t=t.flip(fl); tmp.push(t);} 
   t=t.broadcastTo(shape); tmp.push(t); }
  for(const o of tmp) if(o!==t) o.dispose();
  return t;
}
export function layoutFor(r,x){ const rank=x.shape.length; if(r()<0.25) return null;
  const perm=x.shape.map((_,i)=>i); if(r()<0.6) for(let i=rank-1;i>0;i--){ const j=r.int(0,i); [perm[i],perm[j]]=[perm[j],perm[i]]; }
  const wild=r()<0.5;
  return {perm,steps:x.shape.map(()=>wild&&r()<0.4?r.int(2,3):1),pads:x.shape.map(()=>r()<0.3?r.int(1,2):0),offs:x.shape.map(()=>r()<0.3?r.int(1,2):0),flips:x.shape.map(()=>wild&&r()<0.4),useB:r()<0.7}; }
export const plain=(x,dtype='float64')=>tensor(dtype==='float64'?x.values:Float32Array.from(x.values),{shape:x.shape,dtype,device:'cpu'});
export const arr=async(t)=>Array.from(await t.toTypedArray(),Number);
