// cdistBackward fuzz
import { device, cdist, cdistBackward, rng, gen, place, plain, arr, size, layoutFor } from './lib.mjs';
const seed0=Number(process.argv[2]??1), count=Number(process.argv[3]??50); const budget=Number(process.argv[4]??60)*1000; const t00=Date.now(); let bad=0,done=0;
for(let it=0;it<count&&Date.now()-t00<budget;it++){ const seed=seed0*100000+it; const r=rng(seed); const before=device('cpu').memory().liveStorages;
 const batch=r.pick([[],[],[2],[2,3],[1],[3,1,2]]); const sub=(b)=>{ let s=b.map(n=>r()<0.3?1:n); if(r()<0.4) s=s.slice(r.int(0,s.length)); return s; };
 const m=r.pick([0,1,2,3,5,17]),n=r.pick([0,1,2,4,5,9]),k=r.pick([0,1,1,2,3,5,8,33]); const p=r.pick([1,2,3,0.5,0.25,1.5,2.5,1.3,4,8,8.25,20,Infinity,0.1,7.75]); const skip=r()<0.4;
 const A=gen(r,[...sub(batch),m,k],r.normal,r()<0.2?0.4:0),B=gen(r,[...sub(batch),n,k],r.normal,r()<0.2?0.4:0);
 const info=JSON.stringify({seed,p,skip,A:A.shape,B:B.shape});
 try{ const fwd=async(x,y,pp=p)=>{ const a=await plain(x),b=await plain(y); const K=await cdist(a,b,{p:pp,skipEpilogue:skip}); const o=[await arr(K),K.shape]; [a,b,K].forEach(t=>t.dispose()); return o; };
 const [k0,sh]=await fwd(A,B); const G=gen(r,[...sh],r.normal,r()<0.3?0.5:0);
 const [a,b,g]=[await place(r,A,'float64'),await place(r,B,'float64'),await place(r,G,'float64')];
 let wrt=['a','b','p'].filter(x=>r()<0.7&&!(x==='p'&&p===Infinity)); if(!wrt.length) wrt=['a'];
 let res=await cdistBackward(g,a,b,{p,skipEpilogue:skip,wrt}); const got={}; for(const x of wrt) got[x]=await arr(res[x]); Object.values(res).forEach(t=>t.dispose());
 const prep=await cdistBackward.prepare(g,a,b,{p,skipEpilogue:skip,wrt}); res=prep(g,a,b); for(const x of wrt){ const q=await arr(res[x]); if(!q.every((v,i)=>Math.abs(v-got[x][i])<=1e-9*(1+Math.abs(v)))) {bad++;console.log('PREP',x,info);} } Object.values(res).forEach(t=>t.dispose());
 [a,b,g].forEach(t=>t.dispose());
 const loss=async(...z)=>{ const [kv]=await fwd(...z); let s=0; kv.forEach((v,i)=>s+=v*G.values[i]); return s; };
 const mx=Math.max(0,...k0.map(Math.abs)); const h=1e-6;
 for(const x of wrt){ const vals=x==='a'?A.values:x==='b'?B.values:[p]; const idx=[...Array(vals.length).keys()]; for(const i of idx.length>5?[...Array(5)].map(()=>r.pick(idx)):idx){ const f=async(s)=>{ if(x==='p') return loss(A,B,p+s*h); const w=vals.slice(); w[i]+=s*h; return x==='a'?loss({shape:A.shape,values:w},B):loss(A,{shape:B.shape,values:w}); };
  const fd=(await f(1)-await f(-1))/(2*h); const G1=G.values.reduce((s,v)=>s+Math.abs(v),0); if(!(Math.abs(fd-got[x][i])<=1e-5*(1+Math.abs(fd))+1e-8*mx*(1+G1))){ bad++; console.log('WRONG',x,i,got[x][i],fd,info); break; } } }
 done++; }catch(e){ console.log('ERR',e.code,e.message.slice(0,200),info,e.code?'':e.stack); bad++; continue; }
 if(device('cpu').memory().liveStorages!==before) {bad++; console.log('LEAK',info);}
}
console.log('cd done',done,'bad',bad);
