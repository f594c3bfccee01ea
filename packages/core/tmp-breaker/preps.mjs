import { tensor, cdist, cdistBackward, runKernelBackward, kernels, rng, gen, plain, arr, device } from './lib.mjs';
const r=rng(9); const M=async(...s)=>plain(gen(r,s,r.normal));
const cmp=(p,q)=>p.every((v,i)=>Math.abs(v-q[i])<=1e-10*(1+Math.abs(v)))&&p.length===q.length;
for(const [nm,mk,direct,k] of [
 ['cdist p wrt all',(g,a,b)=>cdistBackward.prepare(g,a,b,{p:1.5,wrt:['a','b','p']}),(g,a,b)=>cdistBackward(g,a,b,{p:1.5,wrt:['a','b','p']}),3],
 ['gauss scale reg',(g,a,b)=>runKernelBackward.prepare(kernels.gaussian,g,a,b,{bandwidth:2,scale:0.5,regularization:1,regularizationOffset:[1,0],wrt:['a','b','bandwidth','scale','regularization']}),(g,a,b)=>runKernelBackward(kernels.gaussian,g,a,b,{bandwidth:2,scale:0.5,regularization:1,regularizationOffset:[1,0],wrt:['a','b','bandwidth','scale','regularization']}),3],
 ['cosine a',(g,a,b)=>runKernelBackward.prepare(kernels.cosine,g,a,b,{wrt:['a']}),(g,a,b)=>runKernelBackward(kernels.cosine,g,a,b,{wrt:['a']}),5],
]) for(const ex of [[2,2],[1,1],[4,7],[300,200]]) {
 const f=await mk(await M(ex[0],ex[1]),await M(ex[0],k),await M(ex[1],k)); const line=[];
 for(const [m,n] of [[0,0],[1,1],[2,3],[3,2],[4,4],[0,5],[5,0],[1,500],[500,1],[120,130]]) { const [g,a,b]=[await M(m,n),await M(m,k),await M(n,k)]; let s; try { const x=f(g,a,b), y=await direct(g,a,b); s='ok'; for(const q in y) if(!cmp(await arr(x[q]),await arr(y[q]))) s='WRONG '+q; } catch(e){ s=e.code??e.stack; } line.push(m+'x'+n+':'+s); }
 for(const [m,n] of [[4,4]]) { const [g,a,b]=[await M(m,n),await M(m,k),await M(n,k)]; for(const [l,args] of [['gT',[g.transpose(),a,b]],['gB',[(await M(1)).broadcastTo([m,n]),a,b]],['gflip',[g.flip(),a,b]],['aT',[g,(await M(k,m)).transpose(),b]],['bflip',[g,a,b.flip([0])]],['batch',[await M(2,m,n),await M(2,m,k),await M(2,n,k)]],['batchB',[await M(2,m,n),await M(2,m,k),await M(n,k)]]]) { let s; try { const x=f(...args), y=await direct(...args); s='ok'; for(const q in y) if(!cmp(await arr(x[q]),await arr(y[q]))) s='WRONG '+q; } catch(e){ s=e.code??e.stack; } line.push(l+':'+s); } }
 console.log(nm,ex.join('x'),'|',line.join(' ')); }
