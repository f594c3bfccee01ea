export { cudaAttributes, type CudaAttribute } from './attributes.js';
export { cuda, type CudaReport, type DeviceSummary } from './cuda.js';
export { CudaFunction, type FunctionAttributes, type LaunchGeometry } from './cuda-function.js';
export { DeviceBuffer } from './device-buffer.js';
export { CudaDevice } from './device.js';
export {
  AddonNotFoundError,
  CudaError,
  LibraryNotFoundError,
  NvrtcError,
  OutOfMemoryError,
  type CudaErrorFields,
  type LoadAttempt,
} from './errors.js';
export { CudaEvent } from './event.js';
export { CudaGraph, CudaGraphExec } from './graph.js';
export type { LibraryReport } from './library/library-report.js';
export { MemoryPool } from './memory-pool.js';
export { CudaModule } from './module.js';
export type { HostMemory } from './host-memory.js';
export { nvrtc, type CompileRequest, type CompileResult } from './nvrtc.js';
export { PinnedBuffer } from './pinned-buffer.js';
export { CudaStream } from './stream.js';
export { encodeTensorMap, type TensorMapOptions } from './tensor-map.js';
