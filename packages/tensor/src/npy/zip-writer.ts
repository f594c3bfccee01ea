import { Buffer } from 'node:buffer';
import { pipeline } from 'node:stream/promises';
import { crc32, createDeflateRaw } from 'node:zlib';
import { NpyError } from './npy-error.js';

/** A member to be: its bytes are asked for once, in pieces of bounded size. */
export interface NewMember {
  readonly name: string;
  readonly pieces: Iterable<Uint8Array>;
}

/** Classic zip archives address 4 GiB. */
const MAX_OFFSET = 2 ** 32 - 1;
const VERSION = 20; // deflated members
const UTF8_NAME = 1 << 11;
const SIZES_FOLLOW = 1 << 3;
const DEFLATED = 8;
/** 1 January 1980, the first day of the format: archives of equal members are equal. */
const DATE = (1 << 5) | 1;

/**
 * The bytes of a zip archive, member after member. Sizes and checksum of a member stand behind its data, as they are known only then,
 * and in the directory at the end.
 */
export async function* zipPieces(
  members: Iterable<NewMember>,
  compress: boolean,
): AsyncGenerator<Uint8Array> {
  const directory: Uint8Array[] = [];
  let offset = 0;
  for (const { name, pieces } of members) {
    const label = Buffer.from(name, 'utf8');
    const fields = { method: compress ? DEFLATED : 0, crc: 0, stored: 0, expanded: 0 };
    const checked = (function* () {
      for (const piece of pieces) {
        fields.crc = crc32(piece, fields.crc);
        fields.expanded += piece.length;
        yield piece;
      }
    })();
    const header = record(0x04034b50, [], fields, label);
    const start = offset;
    yield header;
    for await (const piece of compress ? deflated(checked) : checked) {
      fields.stored += piece.length;
      yield piece;
    }
    const end = Buffer.alloc(16);
    end.writeUInt32LE(0x08074b50, 0);
    writeSizes(end, 4, fields);
    yield end;
    directory.push(record(0x02014b50, [VERSION], fields, label, start));
    offset = start + header.length + fields.stored + end.length;
    if (offset > MAX_OFFSET) throw tooLarge();
  }
  const bytes = directory.reduce((total, one) => total + one.length, 0);
  if (offset + bytes > MAX_OFFSET) throw tooLarge();
  yield* directory;
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(directory.length, 8);
  end.writeUInt16LE(directory.length, 10);
  end.writeUInt32LE(bytes, 12);
  end.writeUInt32LE(offset, 16);
  yield end;
}

interface MemberFields {
  readonly method: number;
  readonly crc: number;
  readonly stored: number;
  readonly expanded: number;
}

/** A member's header, or with `offset` its entry in the directory; the two differ in what stands around the same fields. */
function record(
  signature: number,
  before: readonly number[],
  fields: MemberFields,
  label: Buffer,
  offset?: number,
): Uint8Array {
  const at = 4 + 2 * before.length;
  const tail = offset === undefined ? 0 : 14;
  const bytes = Buffer.alloc(at + 26 + tail + label.length);
  bytes.writeUInt32LE(signature, 0);
  before.forEach((value, i) => bytes.writeUInt16LE(value, 4 + 2 * i));
  bytes.writeUInt16LE(VERSION, at);
  bytes.writeUInt16LE(UTF8_NAME | SIZES_FOLLOW, at + 2);
  bytes.writeUInt16LE(fields.method, at + 4);
  bytes.writeUInt16LE(DATE, at + 8);
  writeSizes(bytes, at + 10, fields);
  bytes.writeUInt16LE(label.length, at + 22);
  if (offset !== undefined) bytes.writeUInt32LE(offset, at + 36);
  label.copy(bytes, at + 26 + tail);
  return bytes;
}

function writeSizes(bytes: Buffer, at: number, { crc, stored, expanded }: MemberFields): void {
  bytes.writeUInt32LE(crc, at);
  bytes.writeUInt32LE(Math.min(stored, MAX_OFFSET), at + 4);
  bytes.writeUInt32LE(Math.min(expanded, MAX_OFFSET), at + 8);
}

/** Deflated off the main thread. */
async function* deflated(pieces: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const deflate = createDeflateRaw();
  const feeding = pipeline(pieces, deflate);
  feeding.catch(() => undefined); // rejects too when nobody reads on
  for await (const piece of deflate) yield piece as Uint8Array;
  await feeding;
}

function tooLarge(): NpyError {
  return new NpyError(
    'NPY_TOO_LARGE',
    'Cannot write the archive: it exceeds the 4 GiB of the format. Write one .npy file for each array.',
  );
}
