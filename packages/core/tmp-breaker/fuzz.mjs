import { tensor, device, runKernelBackward, runKernel, kernels, kernelDescriptor, customKernel, formula as F, rng, gen, place, plain, arr, size, layoutFor } from './lib.mjs';
const seed0=Number(process.argv[2]??1), count=Number(process.argv[3]??50); const budget=Number(process.argv[4]??60)*1000; const t00=Date.now();
const mem=()=>device('cpu').memory().liveStorages;
const v=F.variable;
const customs=[
  ['diff','square','none',customKernel(F.exp(F.mul(v('d'),F.neg(F.div(1,v('c'))))),{parameters:['c']}),['c']],
  ['diff','abs','sqrt',customKernel(F.add(F.mul(v('w'),v('d')),F.mul(v('c'),F.mul(v('d'),v('d')))),{parameters:['w','c']}),['w','c']],
  ['dot','none','none',customKernel(F.tanh?F.tanh(F.mul(v('c'),v('d'))):F.mul(v('c'),v('d')),{parameters:['c']}),['c']],
  ['diff','pow','pow',customKernel(F.exp(F.neg(F.mul(v('p'),v('d')))),{parameters:['p']}),['p']],
  ['diff','pow','none',customKernel(F.exp(F.neg(F.mul(v('bandwidth'),v('d')))),{parameters:['bandwidth']}),['bandwidth']],
];
let bad=0, done=0, errs=new Map();
for(let it=0; it<count && Date.now()-t00<budget; it++){
  const seed=seed0*100000+it; const r=rng(seed);
  const names=Object.keys(kernels);
  let desc,label,cust=[]; let positive=false;
  const kind=r();
  if(kind<0.6){ label=r.pick(names); desc=kernels[label]; }
  else if(kind<0.75){ const c=r.pick(customs); desc=kernelDescriptor({innerOperator:c[0],innerPower:c[1],outerPower:c[2],kernel:c[3]}); cust=c[4]; label='custom'+customs.indexOf(c); }
  else { const d={innerOperator:r.pick(['diff','dot']),innerPower:r.pick(['none','abs','square','sqrt','pow']),outerPower:r.pick(['none','abs','square','sqrt','pow']),kernel:r.pick(['none','laplace','gaussian'])}; desc=kernelDescriptor(d); label=JSON.stringify(d); }
  const d=desc;
  if(d.innerOperator==='dot') positive=true;
  const one=r()<0.4; const sameAB=one&&r()<0.3;
  const batch=r.pick([[],[],[2],[3],[2,3],[1],[2,1,2]]);
  const sub=(b)=>{ let s=b.map(n=>r()<0.3?1:n); if(r()<0.4) s=s.slice(r.int(0,s.length)); return s; };
  let m=r.int(1,5), n=r.int(1,5), k=r.pick([1,1,2,3,4,5,7]);
  if(r()<0.05) m=0; if(r()<0.05) n=0; if(r()<0.03) k=0;
  if(one) n=m;
  const dtype='float64';
  const dr=()=>positive?0.2+r():r.normal();
  const ordered=d.innerOperator==='diff'&&(d.innerPower==='sqrt'); // need b>a
  const A=gen(r,[...sub(batch),m,k],()=>ordered&&!one?dr()-5:dr(),r()<0.2?0.4:0);
  const B=one?undefined:gen(r,[...sub(batch),n,k],()=>ordered?dr()+5:(d.innerOperator==='diff'&&d.innerPower==='none'?dr()+4:dr()),r()<0.2?0.4:0);
  const V={}; const put=(name,draw,intNum)=>{ 
    const asT=r()<0.55; if(!asT){ V[name]={num:intNum?intNum():draw()}; return; }
    const sh=r.pick([[],[1],sub(batch),batch,[1,1]]); const bc=r()<0.2?0.5:0; V[name]={t:gen(r,sh,draw,bc)}; };
  const U=(a,b)=>()=>a+(b-a)*r();
  const kn=d.kernel;
  if(['laplace','gaussian','matern12','matern32','matern52','cauchy','inverseMultiquadric','rationalQuadratic'].includes(kn)) put('bandwidth',U(0.7,2.5));
  if(kn==='rationalQuadratic') put('alpha',U(0.5,2));
  if(kn==='polynomial'){ put('gamma',U(0.3,1)); put('offset',U(0.1,1)); put('degree',U(0.5,3.5),()=>r.int(0,4)); }
  if(kn==='sigmoid'){ put('gamma',U(0.1,0.5)); put('offset',U(-0.5,0.5)); }
  for(const c of cust) put('parameters.'+c,U(0.2,1));
  const P=()=>r.pick([1,1.5,2,2.25,3,0.5,0.75,U(0.6,4)(),4,8]);
  const ip=d.innerPower==='pow', op=d.outerPower==='pow';
  if(ip||op){ if(r()<0.6) put('p',()=>U(1.1,3.5)(),P); else { if(ip) put('innerP',U(1.1,3),P); if(op) put('outerP',U(0.4,2.5),P);} 
    if(ip&&op&&V.p?.num!==undefined&&r()<0.1) V.p.num=Infinity; }
  if(d.innerOperator==='diff'&&r()<0.25) put('epsilon',U(0.0,0.3));
  if(r()<0.4) put('regularization',U(0.1,1));
  let regOff; if(V.polyfix){} if(V.degree?.num===0) V.degree.num=2; if(V.regularization&&r()<0.6) regOff=[r.int(-3,5),r.int(-3,5)];
  if(r()<0.3){ if(r()<0.4) V.scale={num:U(0.5,2)()}; else V.scale={t:gen(r,r.pick([[k],[k],[...batch,k],[...sub(batch),k],[...batch.map(()=>1),k],[...sub(batch),1],[1]]),U(0.5,2))}; }
  const lays={a:layoutFor(r,A),b:B&&layoutFor(r,B)};
  for(const nme in V) if(V[nme].t) lays[nme]=layoutFor(r,V[nme].t);
  const sym=one&&r()<0.3&&!(d.innerOperator==='diff'&&(d.innerPower==='none'||d.innerPower==='sqrt'));
  const build=async(over={},wild)=>{ // returns [a,b,opts,tensors]
    const all=[]; const mk=async(x,name)=>{ const t=wild?await place(r,x,dtype,lays[name]):await plain(x); all.push(t); return t; };
    const a=await mk(over.a??A,'a'); const b=B?await mk(over.b??B,'b'):undefined; const o={};
    for(const nme in V){ const val=over[nme]??V[nme]; const x=val.t?await mk(val.t,nme):val.num; if(nme.startsWith('parameters.')) (o.parameters??={})[nme.slice(11)]=x; else o[nme]=x; }
    if(regOff) o.regularizationOffset=regOff; if(sym) o.symmetric=true;
    return [a,b,o,all]; };
  const before=mem();
  const desc2=JSON.stringify({seed,label,one,sym,A:A.shape,B:B?.shape,V:Object.fromEntries(Object.entries(V).map(([n,x])=>[n,x.num??x.t.shape])),regOff,lays:lays});
  try {
   const rounds=r()<0.3?2:1;
   let glay;
   for(let round=0;round<rounds;round++){
    if(round===1){ for(const nme in V){ const val=V[nme]; if(val.num!==undefined&&val.num!==Infinity&&nme!=='degree') val.num=val.num*(0.9+0.2*r()); if(val.t) { const q=1+0.1*r(); val.t={...val.t,values:val.t.values.map(x=>x*q)}; } } if(regOff) regOff=[regOff[0]+r.int(0,1),regOff[1]]; }
    const fwd=async(over)=>{ const [a,b,o,all]=await build(over,false); const K=await runKernel(desc,a,b,o); const res=[await arr(K),K.shape]; K.dispose(); all.forEach(t=>t.dispose()); return res; };
    const [k0,oshape]=await fwd({});
    if(k0.some(x=>!Number.isFinite(x))) { errs.set('nonfinite fwd '+label,(errs.get('nonfinite fwd '+label)??0)+1); continue; }
    const G=gen(r,[...oshape],r.normal,r()<0.3?0.5:0);
    const loss=async(over)=>{ const [kv]=await fwd(over); let s=0; for(let i=0;i<kv.length;i++) s+=kv[i]*G.values[i]; return s; };
    let vars=['a',...(B?['b']:[]),...Object.keys(V)].filter(x=>!(x==='p'&&V.p.num===Infinity));
    if(r()<0.5) vars=vars.filter(()=>r()<0.6); if(!vars.length) vars=['a'];
    vars.sort(()=>r()-0.5);
    const [a,b,o,all]=await build({},true);
    glay??=layoutFor(r,G); const g=await place(r,G,dtype,glay); all.push(g);
    const call=(x={})=>runKernelBackward(desc,g,a,sameAB?a:b,{...o,wrt:vars,...x});
    let res=await call(); const got={}; for(const x of vars) got[x]=await arr(res[x]);
    for(const x of vars){ const want=x==='a'?A.shape:x==='b'?B.shape:V[x].t?.shape??[]; if(JSON.stringify(res[x].shape)!==JSON.stringify(want)) { bad++; console.log('SHAPE',x,res[x].shape,want,desc2);} }
    if(Object.keys(res).join()!==vars.join()) { bad++; console.log('KEYS',Object.keys(res),vars,desc2); }
    Object.values(res).forEach(t=>t.dispose());
    if(r()<0.5){ res=await call(); for(const x of vars){ const again=await arr(res[x]); const dd=Math.max(0,...again.map((q,i)=>Math.abs(q-got[x][i])/(1e-9+Math.abs(q)))); if(!(dd<1e-9)) { bad++; console.log('AGAIN differs',x,dd,desc2); } } Object.values(res).forEach(t=>t.dispose()); }
    if(r()<0.4){ // prepared
      const prep=await runKernelBackward.prepare(desc,g,a,sameAB?a:b,{...o,wrt:vars}); for(let q=0;q<2;q++){ res=prep(g,a,b); for(const x of vars){ const again=await arr(res[x]); const dd=Math.max(0,...again.map((q,i)=>Math.abs(q-got[x][i])/(1e-9+Math.abs(q)))); if(!(dd<1e-9)) { bad++; console.log('PREP differs',x,dd,desc2); } } Object.values(res).forEach(t=>t.dispose()); } }
    if(r()<0.4){ // out
      const out={}; const outs=[]; for(const x of vars) if(r()<0.7){ const sh=x==='a'?A.shape:x==='b'?B.shape:V[x].t?.shape??[]; const O={shape:sh,values:new Float64Array(size(sh)).fill(7)}; out[x]=await place(r,O,dtype,undefined); all.push(out[x]); }
      res=await call({out}); for(const x of vars){ if(out[x]&&res[x]!==out[x]){bad++;console.log('OUT other handle',x,desc2);} const again=await arr(res[x]); const dd=Math.max(0,...again.map((q,i)=>Math.abs(q-got[x][i])/(1e-9+Math.abs(q)))); if(!(dd<1e-9)) { bad++; console.log('OUT differs',x,dd,desc2); } if(!out[x]) res[x].dispose(); } }
    all.forEach(t=>t.dispose());
    // FD
    const h=1e-5;
    for(const x of vars){
      const base=x==='a'?A:x==='b'?B:V[x]; const vals=x==='a'||x==='b'?base.values:base.t?base.t.values:new Float64Array([base.num]);
      const mk=(i,s)=>{ const w=vals.slice(); w[i]+=s*h; if(x==='a'||x==='b') return {[x]:{shape:base.shape,values:w}}; if(base.t) return {[x]:{t:{shape:base.t.shape,values:w}}}; if(x==='degree') return {[x]:{t:{shape:[],values:w}}}; return {[x]:{num:w[0]}}; };
      if(x==='epsilon'){ if(got[x].some(q=>q!==0)) {bad++;console.log('EPS nonzero',desc2);} continue; }
      const idx=[...vals.keys()]; const chosen=idx.length>6?[...Array(6)].map(()=>r.pick(idx)):idx;
      for(const i of chosen){ const fd=((await loss(mk(i,1)))-(await loss(mk(i,-1))))/(2*h); const e=Math.abs(fd-got[x][i]); const tol=2e-6*(1+Math.abs(fd)+Math.max(0,...k0.map(Math.abs)));
        if(!(e<=tol)){ bad++; console.log('WRONG',x,i,'got',got[x][i],'fd',fd,desc2); break; } }
    }
   }
   done++;
  } catch(e){ const msg=String(e.code??e.name)+': '+String(e.message).slice(0,160); const key=msg.replace(/[-\d.]+/g,'#'); if(!errs.has(key)||!e.code) console.log('ERR',msg,desc2,e.code?'':e.stack); errs.set(key,(errs.get(key)??0)+1); if(!errs.leak) errs.leak=true; continue; }
  if(mem()!==before) { bad++; console.log('LEAK',mem()-before,desc2); }
}
console.log('done',done,'bad',bad,[...errs]);
