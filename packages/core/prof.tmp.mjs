import { cdist, tensor, device, map, formula } from './dist/index.js';
const mode = process.argv[2];
const N = Number(process.argv[3] ?? 30000);
const x = await tensor(Float32Array.from({length:256},()=>Math.random()),{shape:[16,16],device:'cpu'});
const p = await cdist.prepare(x,x);
for (let i=0;i<N;i++){
  const r = mode==='prepared' ? p(x,x) : await cdist(x,x);
  r.dispose();
  if (i%64===0) await device('cpu').synchronize();
}
const t=process.hrtime.bigint();
for (let i=0;i<N;i++){
  const r = mode==='prepared' ? p(x,x) : await cdist(x,x);
  r.dispose();
  if (i%64===0) await device('cpu').synchronize();
}
console.log(mode, Number(process.hrtime.bigint()-t)/N/1000,'us');
