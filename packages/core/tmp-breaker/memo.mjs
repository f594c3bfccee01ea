// Deterministic list of calls; results dumped. Run interpreted & compiled, compare.
import { writeFileSync } from 'node:fs';
import { tensor, runKernelBackward, kernels, cdistBackward, rng, gen, place, plain, arr, kernelDescriptor, customKernel, formula as F } from './lib.mjs';
const r=rng(5); const out=[]; const v=F.variable;
const cA=kernelDescriptor({innerOperator:'diff',innerPower:'square',outerPower:'none',kernel:customKernel(F.exp(F.neg(F.mul(v('d'),v('c')))),{parameters:['c']})});
const cB=kernelDescriptor({innerOperator:'diff',innerPower:'square',outerPower:'none',kernel:customKernel(F.exp(F.neg(F.mul(v('d'),v('e')))),{parameters:['e']})});
const pool={};
for(const dt of ['float64','float32']) { const mk=async(sh,f=()=>0.3+r())=>plain(gen(r,sh,f),dt); 
 pool[dt]={ a:[await mk([2,4,3]),await mk([2,4,3]),(await mk([2,3,4])).transpose(),await mk([4,3])], b:[await mk([2,4,3]),await mk([1,4,3]),await mk([4,3])], g:[await mk([2,4,4]),(await mk([2,4,4])).transpose(),(await mk([1])).broadcastTo([2,4,4])], p:[await mk([]),await mk([1]),await mk([2]),await mk([1,1]),(await mk([2])).flip(),await mk([2]),(await mk([1])).broadcastTo([2])], s:[await mk([3]),await mk([2,3]),await mk([1]),await mk([3])] }; }
const nums=[0.5,1.5,2,0.7000001,0.7];
const N=Number(process.argv[2]??1500);
for(let i=0;i<N;i++){
 const dt=r.pick(['float64','float64','float64','float32']); const P=pool[dt]; const a=r.pick(P.a), b=r.pick([undefined,a,...P.b]), g=r.pick(P.g);
 const val=()=>r()<0.5?r.pick(nums):r.pick(P.p);
 const w=r.int(0,5); let d,o={},vars=['a']; if(b!==undefined&&b!==a) vars.push('b');
 if(w===0){ d=kernels.gaussian; o={bandwidth:val()}; vars.push('bandwidth'); }
 else if(w===1){ d=kernels.polynomial; o={gamma:val(),offset:val(),degree:r()<0.5?r.pick([1,2,3]):r.pick(P.p)}; vars.push('gamma','offset','degree'); }
 else if(w===2){ d=kernels.minkowski; if(r()<0.5) {o={p:val()}; vars.push('p');} else {o={innerP:val(),outerP:val()}; vars.push('innerP','outerP');} }
 else if(w===3){ d=r()<0.5?cA:cB; const n=d===cA?'c':'e'; o={parameters:{[n]:val()}}; vars.push('parameters.'+n); }
 else if(w===4){ d=kernels.cosine; }
 else if(w===5){ d='cdist'; o={p:r.pick([1,2,3,1.3,1.4,Infinity]),skipEpilogue:r()<0.3}; if(o.p!==Infinity) vars.push('p'); if(b===a&&!vars.includes('b')) vars.push('b'); }
 if(d!=='cdist'){ if(r()<0.3){ o.regularization=val(); vars.push('regularization'); if(r()<0.6) o.regularizationOffset=[r.int(0,2),r.int(0,2)]; } if(r()<0.3){ o.scale=r()<0.4?r.pick(nums):r.pick(P.s); vars.push('scale'); } if(r()<0.15) o.align=false; if(['gaussian'].some(n=>d===kernels[n])&&r()<0.3){ o.epsilon=val(); } }
 vars=vars.filter(()=>r()<0.6); if(!vars.length) vars=['a']; vars.sort(()=>r()-0.5);
 let rec;
 try { const res=d==='cdist'?await cdistBackward(g,a,b??P.b[0],{...o,wrt:vars}):await runKernelBackward(d,g,a,b,{...o,wrt:vars}); rec={}; for(const n in res){ rec[n]=[res[n].shape,await arr(res[n])]; res[n].dispose(); } } catch(e){ rec={err:e.code+' '+e.message.replace(/#\d+/g,'#')}; }
 out.push({i,dt,w,vars,o:JSON.stringify(o,(k,x)=>x?.shape?['T',x.shape,Object.values(P).flat().indexOf(x)]:x),rec});
}
writeFileSync(process.argv[3],JSON.stringify(out));
