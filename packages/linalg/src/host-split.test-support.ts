import type { CudaStream } from '@mercer/cuda-runtime';
import type { Device, LaunchArguments, LoadedKernel, MemoryArgument, Stream } from '@mercer/tensor';
import { enqueueNative, regionOf } from '@mercer/tensor/cuda';
import { vi } from 'vitest';

/**
 * Lets the fake GPU compute the kernels of the TF32 split, which accept their arguments and do nothing behind the fake driver: by
 * arithmetic that knows nothing of bits.
 */
export function splitOnTheHost(gpu: Device): void {
  const load = gpu.load.bind(gpu);
  vi.spyOn(gpu, 'load').mockImplementation(async (kernel, options) => {
    const loaded = await load(kernel, options);
    if (!kernel.name.startsWith('tf32')) return loaded;
    const launch = (stream: Stream, args: LaunchArguments): void => {
      loaded.launch(stream, args);
      const [from, ...targets] = args.pointers as MemoryArgument[];
      enqueueNative(stream, { what: 'split', reads: [from!], writes: targets }, (streams) => {
        computeSplit(streams.stream, from!, targets, args.scalars);
      });
    };
    return { device: gpu, kernel, launch } satisfies LoadedKernel;
  });
}

function computeSplit(
  stream: CudaStream,
  from: MemoryArgument,
  targets: readonly MemoryArgument[],
  {
    length = 0,
    lines = 0,
    batch = 0,
    ldx = 0,
    batchStrideX = 0,
    ldo = 0,
  }: LaunchArguments['scalars'],
): void {
  stream.synchronizeSync();
  const source = regionOf(from);
  for (let row = 0; row < lines * batch; row++) {
    const first = Math.floor(row / lines) * batchStrideX + (row % lines) * ldx;
    const x = new Float32Array(length);
    stream.copyToHostSync(x, source.buffer, (source.byteOffset ?? 0) + 4 * first, 4 * length);
    targets.forEach((target, part) => {
      const { buffer, byteOffset = 0 } = regionOf(target);
      const line = new Float32Array(length);
      stream.copyToHostSync(line, buffer, byteOffset + 4 * row * ldo, 4 * length);
      x.forEach((value, i) => {
        const finite = Number.isFinite(value);
        const high = finite ? elevenBits(value) : 0;
        if (targets.length === 2) line[i] = part === 0 ? high : finite ? value - high : 0;
        else if (!finite) line[i] = value;
      });
      stream.copyToDeviceSync(buffer, byteOffset + 4 * row * ldo, line);
    });
  }
}

/** To nearest with 11 significant bits, ties away from 0. */
function elevenBits(x: number): number {
  if (x === 0) return 0;
  const unit = 2 ** (Math.floor(Math.log2(Math.abs(x))) - 10);
  return Math.sign(x) * Math.floor(Math.abs(x) / unit + 0.5) * unit;
}
