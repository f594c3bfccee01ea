import { expectTypeOf, test } from 'vitest';
import {
  cublas,
  cublasLt,
  cuda,
  cusolver,
  encodeTensorMap,
  nvrtc,
  type CompileResult,
  type CublasError,
  type CudaAttribute,
  type CudaDevice,
  type CudaError,
  type CudaErrorCode,
  type CudaEvent,
  type CudaFunction,
  type CudaGraph,
  type CudaGraphExec,
  type CudaModule,
  type CudaReport,
  type CudaStream,
  type CusolverError,
  type DeviceBuffer,
  type FunctionAttributes,
  type GesvdOptions,
  type GetrfBatchedOptions,
  type GetrfShape,
  type GetrsBatchedOptions,
  type GetrsOptions,
  type HostMemory,
  type LaunchGeometry,
  type LibraryReport,
  type MatmulOptions,
  type OutOfMemoryError,
  type PinnedBuffer,
  type PotrfOptions,
  type PotrfShape,
  type SyevdOptions,
  type TensorMapOptions,
  type TrsmBatchedOptions,
  type TrsmOptions,
  type WorkspaceBytes,
} from './index.js';

test('cuda', () => {
  expectTypeOf(cuda.isAvailable).toEqualTypeOf<() => boolean>();
  expectTypeOf(cuda.report).returns.toEqualTypeOf<CudaReport>();
  expectTypeOf(cuda.device).toEqualTypeOf<(index?: number) => CudaDevice>();
  expectTypeOf(cuda.deviceCount).returns.toBeNumber();
});

test('devices', () => {
  expectTypeOf<CudaDevice['attribute']>().toEqualTypeOf<(name: CudaAttribute) => number>();
  expectTypeOf<CudaDevice['computeCapability']>().toEqualTypeOf<
    readonly [major: number, minor: number]
  >();
  expectTypeOf<CudaDevice['defaultStream']>().toEqualTypeOf<CudaStream>();
  expectTypeOf<CudaDevice['allocate']>().toEqualTypeOf<
    (bytes: number, stream: CudaStream) => DeviceBuffer
  >();
  expectTypeOf<CudaDevice['allocatePinned']>().toEqualTypeOf<(bytes: number) => PinnedBuffer>();
  expectTypeOf<CudaDevice['loadModule']>().toEqualTypeOf<(image: Uint8Array) => CudaModule>();
  expectTypeOf<CudaDevice['synchronize']>().returns.toEqualTypeOf<Promise<void>>();
  expectTypeOf<CudaDevice['dead']>().toEqualTypeOf<CudaError | undefined>();
  expectTypeOf<CudaDevice>().toExtend<Disposable>();
  // @ts-expect-error: not a device attribute
  cuda.device(0).attribute('colour');
});

test('streams and memory', () => {
  expectTypeOf<DeviceBuffer['address']>().toBeBigInt();
  expectTypeOf<DeviceBuffer['free']>().toEqualTypeOf<(stream?: CudaStream) => void>();
  expectTypeOf<CudaStream['copyToDevice']>().toEqualTypeOf<
    (
      dst: DeviceBuffer,
      dstOffset: number,
      src: HostMemory | PinnedBuffer,
      srcOffset?: number,
      bytes?: number,
    ) => Promise<void>
  >();
  expectTypeOf<CudaStream['copyToHost']>().returns.toEqualTypeOf<Promise<void>>();
  expectTypeOf<CudaStream['copyDeviceToDevice']>().returns.toBeVoid();
  expectTypeOf<Parameters<CudaStream['memset']>[4]>().toEqualTypeOf<1 | 2 | 4 | undefined>();
  expectTypeOf<CudaStream['record']>().toEqualTypeOf<(event: CudaEvent) => void>();
  expectTypeOf<CudaStream['whenDone']>().returns.toEqualTypeOf<Promise<void>>();
  expectTypeOf<CudaStream['inFlight']>().toBeNumber();
  expectTypeOf<CudaStream['endCapture']>().returns.toEqualTypeOf<CudaGraph>();
  expectTypeOf<CudaGraph['instantiate']>().returns.toEqualTypeOf<CudaGraphExec>();
  expectTypeOf<CudaEvent['elapsedMs']>().toEqualTypeOf<(since: CudaEvent) => number>();
  // A buffer is no stream, though both own a handle.
  expectTypeOf<DeviceBuffer>().not.toExtend<CudaStream>();
});

test('functions', () => {
  expectTypeOf<CudaModule['function']>().toEqualTypeOf<(entry: string) => CudaFunction>();
  expectTypeOf<CudaFunction['attributes']>().toEqualTypeOf<FunctionAttributes>();
  expectTypeOf<CudaFunction['launch']>().parameters.toEqualTypeOf<
    [geometry: LaunchGeometry, stream: CudaStream, params: Uint8Array, paramOffsets: Uint32Array]
  >();
  expectTypeOf(encodeTensorMap).toEqualTypeOf<(options: TensorMapOptions) => Uint8Array>();
});

test('nvrtc and errors', () => {
  expectTypeOf(nvrtc.compile).returns.toEqualTypeOf<Promise<CompileResult>>();
  expectTypeOf(nvrtc.version).returns.toEqualTypeOf<[major: number, minor: number]>();
  expectTypeOf<CompileResult['loweredNames']>().toEqualTypeOf<Readonly<Record<string, string>>>();
  expectTypeOf<OutOfMemoryError>().toExtend<CudaError>();
  expectTypeOf<CudaError['code']>().toEqualTypeOf<CudaErrorCode>();
  expectTypeOf<CudaErrorCode>().toExtend<string>();
  expectTypeOf<CudaError['status']>().toEqualTypeOf<number | undefined>();
});

test('cuSOLVER and cuBLASLt', () => {
  expectTypeOf(cusolver.isAvailable).returns.toBeBoolean();
  expectTypeOf(cusolver.report).returns.toEqualTypeOf<LibraryReport>();
  expectTypeOf(cusolver.prepare).toEqualTypeOf<(stream: CudaStream) => Promise<void>>();
  expectTypeOf(cusolver.potrfWorkspace).toEqualTypeOf<
    (stream: CudaStream, shape: PotrfShape) => WorkspaceBytes
  >();
  expectTypeOf(cusolver.potrf).toEqualTypeOf<(stream: CudaStream, options: PotrfOptions) => void>();
  expectTypeOf(cusolver.getrfWorkspace).toEqualTypeOf<
    (stream: CudaStream, shape: GetrfShape) => WorkspaceBytes
  >();
  expectTypeOf<GetrfShape['pivotType']>().toEqualTypeOf<'int32' | 'int64' | undefined>();
  expectTypeOf<GetrsOptions['pivotType']>().toEqualTypeOf<GetrfShape['pivotType']>();
  expectTypeOf(cusolver.getrs).returns.toBeVoid();
  expectTypeOf(cusolver.ormqr).returns.toBeVoid();
  expectTypeOf(cusolver.syevd).toEqualTypeOf<
    (stream: CudaStream, options: SyevdOptions) => Promise<void>
  >();
  expectTypeOf(cusolver.gesvd).toEqualTypeOf<
    (stream: CudaStream, options: GesvdOptions) => Promise<void>
  >();
  expectTypeOf(cublasLt.matmul).toEqualTypeOf<
    (stream: CudaStream, options: MatmulOptions) => void
  >();
  expectTypeOf<CusolverError['code']>().toEqualTypeOf<`CUSOLVER_STATUS_${string}`>();
  expectTypeOf<CusolverError['status']>().toBeNumber();
  expectTypeOf<CublasError['call']>().toBeString();
  // @ts-expect-error: the triangle is not left out
  const _missing: PotrfShape = { dtype: 'float32', n: 1, leadingDimension: 1 };
});

test('cuBLAS', () => {
  expectTypeOf(cublas.isAvailable).returns.toBeBoolean();
  for (const one of [cublas, cublasLt, cusolver]) {
    expectTypeOf(one.assertAvailable).toEqualTypeOf<() => void>();
  }
  expectTypeOf(cublas.report).returns.toEqualTypeOf<LibraryReport>();
  expectTypeOf(cublas.prepare).toEqualTypeOf<(stream: CudaStream) => Promise<void>>();
  expectTypeOf(cublas.trsm).toEqualTypeOf<(stream: CudaStream, options: TrsmOptions) => void>();
  expectTypeOf(cublas.trsmBatched).toEqualTypeOf<
    (stream: CudaStream, options: TrsmBatchedOptions) => void
  >();
  expectTypeOf(cublas.getrfBatched).toEqualTypeOf<
    (stream: CudaStream, options: GetrfBatchedOptions) => void
  >();
  expectTypeOf(cublas.getrsBatched).toEqualTypeOf<
    (stream: CudaStream, options: GetrsBatchedOptions) => void
  >();
});
