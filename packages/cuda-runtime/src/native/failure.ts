import {
  CublasError,
  CudaError,
  CusolverError,
  NcclError,
  NvrtcError,
  OutOfMemoryError,
  misuse,
  type CudaErrorCode,
  type CudaMisuseCode,
} from '../errors.js';
import { formatBytes } from '../format-bytes.js';

/** What the addon tells about a failure; this file turns it into an error class and a sentence. */
export interface NativeFailure {
  readonly kind: 'cuda' | 'nvrtc' | 'outOfMemory' | 'misuse' | 'cusolver' | 'cublas' | 'nccl';
  readonly code: number;
  /** The library's name of the error, or the word for a misuse. */
  readonly name: string;
  readonly call: string;
  readonly what: string;
  readonly log: string;
  readonly source: string;
  readonly requested: number;
  readonly free: number;
  readonly live: number;
  readonly device: number;
}

const ILLEGAL_ACCESS =
  'The device cannot be used again in this process: restart it. Find the faulty access with compute-sanitizer.';
const TOO_OLD =
  'Update the NVIDIA driver, or use an NVRTC no newer than the driver (MERCER_CUDA_HOME chooses one).';

/** What helps against a driver error, by its number. */
const remedies: Readonly<Record<number, string>> = {
  1: 'Check grid, block, cluster, shared memory and ranges against the limits of the device.',
  100: 'Check that a GPU is visible: nvidia-smi, CUDA_VISIBLE_DEVICES.',
  200: 'The image is not a cubin, fatbin or PTX text for this driver; compile it again.',
  209: 'Compile for the architecture of this device (see device.arch).',
  214: 'The device has a memory error: restart the process and have the GPU checked.',
  218: 'The PTX does not assemble on this driver; look for instructions the device does not have.',
  222: TOO_OLD,
  700: ILLEGAL_ACCESS,
  701: 'The kernel needs more registers, threads or shared memory than a block can have; use a smaller block, or setMaxDynamicSharedMem.',
  702: 'A display driver watchdog ended the kernel: split the work, or use a GPU without a display.',
  710: 'A device-side assert failed. The device cannot be used again in this process: restart it.',
  716: ILLEGAL_ACCESS,
  719: ILLEGAL_ACCESS,
  802: 'The system is not ready for CUDA: on NVSwitch systems check that the fabric manager runs.',
  900: 'This operation cannot be part of a graph; move it out of the capture.',
  901: 'The capture was broken by an operation that cannot be captured; begin again without it.',
};

const misuseRemedies: Readonly<Partial<Record<CudaMisuseCode, string>>> = {
  DISPOSED: 'Keep the object until its last use, or make a new one.',
  CAPTURING:
    'End the capture first, or use another stream; what is made on first use is made by cusolver.prepare or cublas.prepare, or by a call before the capture.',
  DEVICE_MISMATCH: 'Use objects of one device together.',
  NO_SUCH_DEVICE: 'Use an index below cuda.deviceCount().',
  NO_SUCH_FUNCTION:
    'Pass the lowered name from nvrtc.compile, or an extern "C" kernel\'s own name.',
  GROUP_MISMATCH:
    'All ranks call the same with tensors of one shape and dtype, in the same order. Nothing was computed, and the group goes on.',
  GROUP_ENDED: 'Join a new group.',
  FORKED: 'Start child processes with spawn, which also runs exec.',
};

/** The error for a failure of the addon: "what failed: why. How to fix it." */
export function toError(failure: NativeFailure): Error {
  const where = failure.device >= 0 ? ` on cuda:${failure.device}` : '';
  const { code: status, name, call, log, source } = failure;
  const base = { status, name, call, ...(failure.device >= 0 ? { device: failure.device } : {}) };
  switch (failure.kind) {
    case 'misuse': {
      const word = name as CudaMisuseCode;
      return misuse(word, sentence(failure.what, misuseRemedies[word]));
    }
    case 'nvrtc': {
      const remedy =
        status === 7
          ? 'libnvrtc-builtins was not found: keep it beside libnvrtc.'
          : 'Correct the source or the options.';
      const firstError =
        log.split('\n').find((line) => line.includes('error')) ?? log.split('\n')[0];
      return new NvrtcError(sentence(`${call} failed: ${name}: ${firstError ?? ''}`, remedy), {
        status,
        name,
        log,
        source,
        call,
      });
    }
    case 'outOfMemory':
      return new OutOfMemoryError(
        `${call}${where} failed: ${formatBytes(failure.requested)} asked for, ${formatBytes(failure.free)} free, ` +
          `${formatBytes(failure.live)} held by live buffers of this process. ` +
          'Dispose what is no longer needed, or work in smaller pieces.',
        {
          ...base,
          code: 'OUT_OF_MEMORY',
          requested: failure.requested,
          free: failure.free,
          live: failure.live,
        },
      );
    case 'cusolver':
      return new CusolverError(statusText(failure, where), { ...base, device: failure.device });
    case 'cublas':
      return new CublasError(statusText(failure, where), { ...base, device: failure.device });
    case 'nccl': {
      const { what } = failure;
      const numbered = status === 0 ? name : `${name} (${status})`;
      return new NcclError(
        sentence(`${call}${where} failed: ${numbered}: ${what}`, ncclRemedies[name]),
        { ...base, device: failure.device },
      );
    }
    case 'cuda': {
      const text = `${call}${where} failed: ${name} (${status}): ${failure.what}`;
      if (status === 222)
        return new CudaError(sentence(text, TOO_OLD), { ...base, code: 'DRIVER_TOO_OLD' });
      return new CudaError(sentence(text, remedies[status]), {
        ...base,
        code: name as CudaErrorCode,
      });
    }
  }
}

/** What helps against a status of cuSOLVER, cuBLASLt or cuBLAS, by the end of its name. */
const statusRemedies: Readonly<Record<string, string>> = {
  NOT_INITIALIZED: 'The library could not start on this device: check that it has free memory.',
  ALLOC_FAILED: 'The library found no device memory for itself: dispose buffers or trim the pool.',
  INVALID_VALUE: 'Check dimensions, leading dimensions and the size of the workspace.',
  INVALID_WORKSPACE: 'Ask for the size of the workspace with the same arguments.',
  ARCH_MISMATCH: 'This library does not know the device: install one of a newer CUDA.',
  NOT_SUPPORTED: 'Check element types, alignment and leading dimensions against the library.',
  EXECUTION_FAILED: 'See the error before this one, or run under compute-sanitizer.',
  INTERNAL_ERROR: 'See the error before this one, or run under compute-sanitizer.',
};

/** What helps against a failure of NCCL. The group has ended with it. */
const ncclRemedies: Readonly<Record<string, string>> = {
  NCCL_TIMEOUT:
    'See whether the other processes live and call the same in the same order; a larger timeoutMs waits longer. Join a new group to go on.',
  NCCL_ABORTED: 'Join a new group to go on.',
  NCCL_REMOTE_ERROR:
    'Another process has ended, or the network has failed: see its own error. Join a new group to go on.',
  NCCL_INVALID_USAGE: 'Each rank needs a GPU of its own, and all ranks one size and one id.',
  NCCL_SYSTEM_ERROR:
    'Check the network and /dev/shm between the processes, and that the id is of a process that lives; NCCL_DEBUG=INFO tells more.',
  NCCL_UNHANDLED_CUDA_ERROR: 'NCCL_DEBUG=INFO tells more.',
  NCCL_INTERNAL_ERROR: 'NCCL_DEBUG=INFO tells more.',
};

function statusText(failure: NativeFailure, where: string): string {
  const { call, name, code, what } = failure;
  const text = `${call}${where} failed: ${name} (${code})${what === '' ? '' : `: ${what}`}`;
  return sentence(text, statusRemedies[name.replace(/^CU[A-Z]+_STATUS_/, '')]);
}

function sentence(text: string, remedy: string | undefined): string {
  const ended = /[.!?]$/.test(text) ? text : `${text}.`;
  return remedy === undefined ? ended : `${ended} ${remedy}`;
}
