import { Buffer } from 'node:buffer';
import { CacheError } from './errors.js';

const MACHINE_CUDA = 190;
const MACHINE_X86_64 = 62;
const MACHINE_ARM64 = 183;
const HEADER_BYTES = 64;

function machineFor(target: string): number | undefined {
  if (target.startsWith('sm_')) return MACHINE_CUDA;
  if (target.startsWith('x86-64')) return MACHINE_X86_64;
  return target === 'arm64' ? MACHINE_ARM64 : undefined;
}

/** The architecture in a cubin's flags, which moved by eight bits in version 8 of its format. */
function smNumber(view: Buffer): number | undefined {
  const version = view[8] ?? 0;
  if (version !== 7 && version !== 8) return undefined;
  return (view.readUInt32LE(48) >>> (version === 8 ? 8 : 0)) & 0xff;
}

function tableEnd(view: Buffer, offsetAt: number, sizeAt: number): number {
  const bytes = view.readUInt16LE(sizeAt) * view.readUInt16LE(sizeAt + 2);
  return Number(view.readBigUInt64LE(offsetAt)) + bytes;
}

function elfTrouble(binary: Uint8Array, target: string): string | undefined {
  const machine = machineFor(target);
  const sm = Number(/^sm_(\d+)/.exec(target)?.[1]);
  const view = Buffer.from(binary.buffer, binary.byteOffset, binary.byteLength);
  if (view.length < HEADER_BYTES) return `it has only ${view.length} bytes`;
  if (view.readUInt32BE(0) !== 0x7f454c46) return 'it does not begin like an ELF file';
  if (view[4] !== 2 || view[5] !== 1) return 'it is not a 64-bit little-endian ELF file';
  const found = view.readUInt16LE(18);
  if (machine !== undefined && found !== machine) return `it is for ELF machine ${found}`;
  const built = machine === MACHINE_CUDA ? smNumber(view) : undefined;
  if (built !== undefined && built !== sm) return `it is for sm_${built}`;
  // The tables of sections and segments: a file that was cut off lacks the later one.
  const end = Math.max(tableEnd(view, 40, 58), tableEnd(view, 32, 54));
  return end > view.length ? `it is cut off at ${view.length} bytes` : undefined;
}

function ptxTrouble(binary: Uint8Array): string | undefined {
  const head = Buffer.from(binary.subarray(0, 8192)).toString('latin1');
  return /^\.version\s/m.test(head) ? undefined : 'it does not begin like PTX';
}

/** What is wrong with a compiled binary for a target, undefined where nothing is. */
export function artifactTrouble(target: string, binary: Uint8Array): string | undefined {
  return target.startsWith('compute_') ? ptxTrouble(binary) : elfTrouble(binary, target);
}

/** Throws ARTIFACT_INVALID unless the binary has the form that its target asks for. */
export function assertArtifact(toolchain: string, target: string, binary: Uint8Array): void {
  const trouble = artifactTrouble(target, binary);
  if (trouble === undefined) return;
  throw new CacheError(
    'ARTIFACT_INVALID',
    `${toolchain} made something unusable for ${target}: ${trouble}. Check the installation of ${toolchain}.`,
  );
}
