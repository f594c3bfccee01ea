# Which instructions the loop of gaussian-sum-d3.py has, at what clock it runs, and how many issue slots a pair takes.
import cupy as cp, numpy as np, subprocess, re, collections, os
SRC=r"""
#define R %(R)d
#define T %(T)d
#define MODE %(MODE)d
#define POLY %(POLY)d
__device__ __forceinline__ float ex2(float x){float r;asm("ex2.approx.ftz.f32 %%0, %%1;":"=f"(r):"f"(x));return r;}
// 2^x for -126 < x <= 0 on the FMA pipe: magic-number range reduction, degree 5
__device__ __forceinline__ float ex2p(float x){
  x = fmaxf(x,-126.f);
  float m = x + 12582912.f; int e = __float_as_int(m); float f = x - (m - 12582912.f);
  float p = 0.00132764608f; p=fmaf(p,f,0.00967554189f); p=fmaf(p,f,0.0555071346f); p=fmaf(p,f,0.240221202f); p=fmaf(p,f,0.693146944f); p=fmaf(p,f,1.00000012f);
  return __int_as_float(__float_as_int(p) + (e << 23));
}
extern "C" __global__ void __launch_bounds__(T,%(OCC)d) g(const float*x,const float*y,const float*b,float*w,int n,int m,int parts,float one){
  __shared__ float4 s[128];
  const float c = 1.2011224087864498f; // sqrt(log2 e)
  float x0[R],x1[R],x2[R],nx[R],tot[R];
  const int first = blockIdx.x*T*R;
  const int len = (((m+15)/16+parts-1)/parts)*16; const int from=min(m,len*(int)blockIdx.y), end=min(m,from+len);
  #pragma unroll
  for(int r=0;r<R;r++){int row=min(n-1,first+(int)threadIdx.x+r*T); x0[r]=x[row*3];x1[r]=x[row*3+1];x2[r]=x[row*3+2];tot[r]=0;
    if(MODE>=1&&MODE<=3){x0[r]*=c;x1[r]*=c;x2[r]*=c;}
    nx[r]=-(x0[r]*x0[r]+x1[r]*x1[r]+x2[r]*x2[r]);
    if(MODE==2||MODE==3){x0[r]*=2;x1[r]*=2;x2[r]*=2;} }
  for(int st=from;st<end;st+=128){
    int cnt=min(128,end-st);
    __syncthreads();
    for(int q=threadIdx.x;q<cnt;q+=T){float a0=y[(st+q)*3],a1=y[(st+q)*3+1],a2=y[(st+q)*3+2],w0=b[st+q];
      if(MODE>=1&&MODE!=4&&MODE!=6){a0*=c;a1*=c;a2*=c;}
      s[q]=make_float4(a0,a1,a2,w0);}
    __syncthreads();
    float acc[R];
    #pragma unroll
    for(int r=0;r<R;r++)acc[r]=0;
    #pragma unroll %(U)d
    for(int q=0;q<cnt;q++){
      float4 v=s[q];
      float ny; if(MODE==2||MODE==3) ny=-(v.x*v.x+v.y*v.y+v.z*v.z);
      #pragma unroll
      for(int r=0;r<R;r++){
        float t;
        if(MODE==4||MODE==5){float d0=fmaf(x0[r],one,-v.x),d1=fmaf(x1[r],one,-v.y),d2=fmaf(x2[r],one,-v.z); t=d0*d0; t=fmaf(d1,d1,t); t=fmaf(d2,d2,t); t=-t; if(MODE==4)t*=1.44269502f;}
        else if(MODE==6){float d0=fmaf(x0[r],one,-v.x),d1=x1[r]-v.y,d2=fmaf(x2[r],one,-v.z); t=d0*d0; t=fmaf(d1,d1,t); t=fmaf(d2,d2,t); t=-t; t*=1.44269502f;}
        else if(MODE<=1){float d0=x0[r]-v.x,d1=x1[r]-v.y,d2=x2[r]-v.z; t=d0*d0; t=fmaf(d1,d1,t); t=fmaf(d2,d2,t); t=-t; if(MODE==0)t*=1.44269502f;}
        else if(MODE==2){t=nx[r]+ny; t=fmaf(x0[r],v.x,t);t=fmaf(x1[r],v.y,t);t=fmaf(x2[r],v.z,t);}
        else {t=fmaf(x0[r],v.x,ny);t=fmaf(x1[r],v.y,t);t=fmaf(x2[r],v.z,t);}
        float e; if(POLY>0 && r%%(POLY>0?POLY:1)==0) e=ex2p(t); else e=ex2(t);
        acc[r]=fmaf(v.w,e,acc[r]);
      }
    }
    #pragma unroll
    for(int r=0;r<R;r++)tot[r]+=acc[r];
  }
  #pragma unroll
  for(int r=0;r<R;r++){int row=first+threadIdx.x+r*T; if(row<n)w[(long long)blockIdx.y*n+row]=MODE==3?tot[r]*ex2(nx[r]):tot[r];}
}
"""
CLK=r"""
extern "C" __global__ void spin(long long*o){long long a,b,c,d;asm volatile("mov.u64 %0,%globaltimer;":"=l"(a));c=clock64();float x=o[0];for(int i=0;i<20000000;i++)x=fmaf(x,1.0000001f,1e-9f);d=clock64();asm volatile("mov.u64 %0,%globaltimer;":"=l"(b));o[0]=b-a;o[1]=d-c;o[2]=(long long)x;}
"""
SRC=SRC.replace("for(int st=from;st<end;st+=128){","long long t0,g0; asm volatile(\"mov.u64 %%0,%%globaltimer;\":\"=l\"(g0)); t0=clock64();\n  for(int st=from;st<end;st+=128){",1)
SRC=SRC.replace("  #pragma unroll\n  for(int r=0;r<R;r++){int row=first+threadIdx.x+r*T; if(row<n)w","  long long t1=clock64(),g1; asm volatile(\"mov.u64 %%0,%%globaltimer;\":\"=l\"(g1)); if(threadIdx.x==0){atomicAdd(clk,(unsigned long long)(t1-t0));atomicAdd(clk+1,(unsigned long long)(g1-g0));}\n  #pragma unroll\n  for(int r=0;r<R;r++){int row=first+threadIdx.x+r*T; if(row<n)w",1)
SRC=SRC.replace("int parts,float one)","int parts,float one,unsigned long long*clk)")
n=100000; g=cp.random.default_rng(1); x=g.standard_normal((n,3),dtype=cp.float32);y=g.standard_normal((n,3),dtype=cp.float32);b=g.standard_normal(n,dtype=cp.float32)
names={0:'differences',1:'differences, scaled before',2:'expanded, both norms added',3:'expanded, norm of x outside'}
for mode in (0,1,2,3):
  for (R,T,occ,U,p) in ((8,256,2,8,16),(8,256,2,4,16),(4,128,4,4,8)):
    cfg=dict(MODE=mode,R=R,T=T,OCC=occ,U=U,POLY=0); code=SRC%cfg
    mod=cp.RawModule(code=code,options=('-std=c++17',),backend='nvrtc'); f=mod.get_function('g')
    w=cp.zeros((p,n),cp.float32); clk=cp.zeros(2,cp.uint64); grid=(-(-n//(T*R)),p); ts=[]
    for i in range(9):
        clk[:]=0; a=cp.cuda.Event();e=cp.cuda.Event();a.record();f(grid,(T,),(x,y,b,w,np.int32(n),np.int32(n),np.int32(p),np.float32(1),clk));e.record();e.synchronize();ts.append(cp.cuda.get_elapsed_time(a,e))
    ms=float(np.median(ts)); c=clk.get(); ghz=c[0]/c[1]
    open('/tmp/k.cu','w').write(code); r=subprocess.run('nvcc -arch=sm_90a -std=c++17 -cubin -o /tmp/k.cubin /tmp/k.cu && cuobjdump -sass /tmp/k.cubin',shell=True,capture_output=True,text=True).stdout
    lines=[l for l in r.splitlines() if re.search(r'/\*[0-9a-f]{4}\*/',l)]
    mu=[i for i,l in enumerate(lines) if 'MUFU.EX2' in l]
    loops=[]
    # the unrolled body: from the first to the last MUFU of the longest run
    ops=collections.Counter(re.search(r'\*/\s+(?:@!?U?P\d+ )?([A-Z0-9]+(?:\.[A-Z0-9]+)?)',l).group(1) for l in lines[mu[0]:mu[-1]+1]) if mu else {}
    pairs=sum(v for k,v in ops.items() if k.startswith('MUFU'))
    per={k:round(v/pairs,2) for k,v in ops.most_common(10)}
    print(f"{names[mode]:30s} R={R} T={T} U={U}: {ms:.3f} ms at {ghz:.3f} GHz: {ms*1e-3*ghz*1e9*132*128/(n*n):.2f} lane slots a pair; instructions a pair {sum(ops.values())/pairs:.2f}: {per}",flush=True)
