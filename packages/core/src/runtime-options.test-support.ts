import * as cpuRuntime from '@mercer/cpu-runtime';
import * as cudaRuntime from '@mercer/cuda-runtime';

/** Calls of one entry point with options in their place; whatever stands before them is right. */
export type Call = (options: never) => unknown;
/** The entry point by the name that it has in the types. */
export type Row = readonly [name: string, call: Call, wrong?: string, meant?: string];

/** Calls of the runtimes. They read their options before they need a device, a library or their own object. */
export function runtimeRows(): readonly Row[] {
  const {
    cublas,
    cusolver,
    cublasLt,
    nccl,
    NcclCommunicator,
    nvrtc,
    CudaDevice,
    CudaFunction,
    encodeTensorMap,
  } = cudaRuntime;
  const { cpu, CpuFunction, CpuModule } = cpuRuntime;
  const stream = {} as never;
  const named = { name: 'f', entry: 'f' } as never;
  const program = { words: [], constants: [] };
  const libraries: readonly Row[] = [
    ...Object.entries({ cublas, cusolver, cublasLt }).flatMap(([library, calls]) =>
      Object.entries(calls)
        .filter(([name]) => !/^(isAvailable|assertAvailable|report|prepare)$/.test(name))
        .map(([name, call]): Row => [
          `${library}.${name}`,
          (o) => (call as LibraryCall)(stream, o),
          'Dtype',
          'dtype',
        ]),
    ),
    ['nccl.join', (o) => nccl.join(stream, o), 'timeout', 'timeoutMs'],
    ['NcclCommunicator.allReduce', (o) => NcclCommunicator.prototype.allReduce.call({}, stream, o)],
    ['NcclCommunicator.allGather', (o) => NcclCommunicator.prototype.allGather.call({}, stream, o)],
    ['nvrtc.compile', (o) => nvrtc.compile(o), 'filename', 'fileName'],
    ['encodeTensorMap', (o) => encodeTensorMap(o), 'size', 'sizes'],
    ['CudaDevice.createStream', (o) => CudaDevice.prototype.createStream.call(stream, o)],
    ['CudaDevice.createEvent', (o) => CudaDevice.prototype.createEvent.call(stream, o)],
    [
      'CudaFunction.launch',
      (o) => {
        CudaFunction.prototype.launch.call(named, o, stream, new Uint8Array(), new Uint32Array());
      },
      'Cluster',
      'cluster',
    ],
    [
      'CudaFunction.maxActiveClusters',
      (o) => CudaFunction.prototype.maxActiveClusters.call(named, o),
    ],
    ['cpu.compile', (o) => cpu.compile(o), 'timeoutMS', 'timeoutMs'],
    ['cpu.interpret', (o) => cpu.interpret(program, o), 'paramsBytes', 'paramBytes'],
    ['cpu.interpret: the program', (o) => cpu.interpret(o, { paramBytes: 0 }), 'word', 'words'],
    ['CpuModule.function', (o) => CpuModule.prototype.function.call(stream, 'f', o)],
    [
      'CpuFunction.launch',
      (o) => {
        CpuFunction.prototype.launch.call(named, o, stream, new Uint8Array());
      },
      'task',
      'tasks',
    ],
  ];
  return libraries;
}

type LibraryCall = (stream: never, options: never) => unknown;
