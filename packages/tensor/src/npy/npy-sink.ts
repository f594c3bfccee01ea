import { allocateData, finishSteps, storedBytes, type NpyArray } from './npy-array.js';
import { checkFileBytes } from './npy-codec.js';
import { NpyError } from './npy-error.js';
import { NPY_PREFIX_BYTES, npyDataOffset, parseNpyHeader, type NpyHeader } from './npy-header.js';
import { runInSlices } from './slices.js';
import type { Watch } from './watch.js';

/**
 * Takes a .npy file piece by piece, as an archive member comes out of decompression. The header is judged against the
 * announced length before the elements' buffer is allocated, and a byte beyond that length ends the reading.
 */
export class NpySink {
  private head = new Uint8Array(0);
  private header: NpyHeader | undefined;
  private buffer = new ArrayBuffer(0);
  private received = 0;

  constructor(
    private readonly announcedBytes: number,
    private readonly maxBytes: number,
  ) {}

  push(piece: Uint8Array): void {
    const start = this.received;
    this.received += piece.length;
    if (this.received > this.announcedBytes) {
      throw new NpyError(
        'NPY_INVALID',
        `Cannot read the archive member: it expands beyond the ${this.announcedBytes} bytes that the archive announces. ` +
          'The archive is damaged or hostile.',
      );
    }
    if (this.header === undefined) this.collectHeader(piece);
    else storedBytes(this.header, this.buffer).set(piece, start - this.header.dataOffset);
  }

  async finish(watch: Watch): Promise<NpyArray> {
    if (this.received !== this.announcedBytes || this.header === undefined) {
      throw new NpyError(
        'NPY_TRUNCATED',
        `Cannot read the archive member: ${this.received} bytes came out and the archive announces ${this.announcedBytes}. ` +
          'The archive is damaged; write it again.',
      );
    }
    return runInSlices(finishSteps(this.header, this.buffer), watch);
  }

  private collectHeader(piece: Uint8Array): void {
    const head = new Uint8Array(this.head.length + piece.length);
    head.set(this.head);
    head.set(piece, this.head.length);
    this.head = head;
    const complete = this.received === this.announcedBytes;
    if (!complete && head.length < NPY_PREFIX_BYTES) return;
    const dataOffset = npyDataOffset(head.subarray(0, NPY_PREFIX_BYTES));
    if (!complete && head.length < dataOffset) return;
    this.header = parseNpyHeader(head);
    checkFileBytes(this.header, this.announcedBytes);
    this.buffer = allocateData(this.header, this.maxBytes);
    storedBytes(this.header, this.buffer).set(head.subarray(dataOffset));
    this.head = new Uint8Array(0);
  }
}
