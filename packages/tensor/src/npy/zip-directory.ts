import type { ByteSource } from './byte-source.js';
import { NpyError } from './npy-error.js';
import { quoted } from './printable.js';

/** One member as the central directory of a zip archive lists it. The name is a label, never a path. */
export interface ZipMember {
  readonly name: string;
  readonly method: 'stored' | 'deflated';
  readonly crc32: number;
  readonly storedBytes: number;
  readonly expandedBytes: number;
  readonly headerOffset: number;
  /** First byte that belongs to the next member or to the directory. */
  readonly limitOffset: number;
}

const END_SIGNATURE = 0x06054b50;
const END64_LOCATOR_SIGNATURE = 0x07064b50;
const END64_SIGNATURE = 0x06064b50;
const MEMBER_SIGNATURE = 0x02014b50;
const LOCAL_SIGNATURE = 0x04034b50;
const LOCAL_HEADER_BYTES = 30;
const MAX_DIRECTORY_BYTES = 2 ** 24;

/** Lists the members of a zip archive after checking counts, offsets, overlaps, names and methods. */
export async function readZipDirectory(
  source: ByteSource,
  maxEntries: number,
): Promise<ZipMember[]> {
  const { entries, offset, bytes } = await findDirectory(source);
  if (entries > maxEntries) {
    throw new NpyError(
      'NPY_TOO_LARGE',
      `Cannot read the archive: it lists ${entries} members and at most ${maxEntries} are read. Raise the option maxEntries if the file is trusted.`,
    );
  }
  if (bytes > MAX_DIRECTORY_BYTES || entries * 46 > bytes) {
    throw invalid(`its directory of ${entries} members claims ${bytes} bytes`);
  }
  const view = asView(await source.read(offset, bytes));
  const members: ZipMember[] = [];
  let at = 0;
  for (let i = 0; i < entries; i++) {
    const { member, next } = parseMember(view, at);
    members.push(member);
    at = next;
  }
  return checkLayout(members, offset);
}

/** Where the data of a member begins; the local header is checked against the space the member has. */
export async function memberDataOffset(source: ByteSource, member: ZipMember): Promise<number> {
  const view = asView(await source.read(member.headerOffset, LOCAL_HEADER_BYTES));
  if (view.getUint32(0, true) !== LOCAL_SIGNATURE) {
    throw invalid(`member ${quoted(member.name)} has no header at ${member.headerOffset}`);
  }
  const start =
    member.headerOffset + LOCAL_HEADER_BYTES + view.getUint16(26, true) + view.getUint16(28, true);
  if (start + member.storedBytes > member.limitOffset) {
    throw invalid(`member ${quoted(member.name)} runs into the one after it`);
  }
  return start;
}

async function findDirectory(
  source: ByteSource,
): Promise<{ entries: number; offset: number; bytes: number }> {
  const tailBytes = Math.min(source.bytes, 22 + 65535);
  const tailStart = source.bytes - tailBytes;
  const tail = asView(await source.read(tailStart, tailBytes));
  for (let at = tailBytes - 22; at >= 0; at--) {
    if (tail.getUint32(at, true) !== END_SIGNATURE) continue;
    if (at + 22 + tail.getUint16(at + 20, true) !== tailBytes) continue;
    const end = {
      entries: tail.getUint16(at + 10, true),
      bytes: tail.getUint32(at + 12, true),
      offset: tail.getUint32(at + 16, true),
    };
    const many = end.entries === 0xffff || end.bytes === 0xffffffff || end.offset === 0xffffffff;
    const found = many ? await findDirectory64(source, tailStart + at) : end;
    if (found.offset + found.bytes > tailStart + at) {
      throw invalid('its directory reaches beyond its own end');
    }
    return found;
  }
  throw invalid('the end of a zip archive is missing');
}

async function findDirectory64(
  source: ByteSource,
  endOffset: number,
): Promise<{ entries: number; offset: number; bytes: number }> {
  const locator = asView(await source.read(endOffset - 20, 20));
  if (locator.getUint32(0, true) !== END64_LOCATOR_SIGNATURE) {
    throw invalid('its 64-bit directory is missing');
  }
  const end = asView(await source.read(safe(locator.getBigUint64(8, true)), 56));
  if (end.getUint32(0, true) !== END64_SIGNATURE) throw invalid('its 64-bit directory is damaged');
  return {
    entries: safe(end.getBigUint64(32, true)),
    bytes: safe(end.getBigUint64(40, true)),
    offset: safe(end.getBigUint64(48, true)),
  };
}

function parseMember(view: DataView, at: number): { member: ZipMember; next: number } {
  if (at + 46 > view.byteLength || view.getUint32(at, true) !== MEMBER_SIGNATURE) {
    throw invalid('its directory is damaged');
  }
  const nameBytes = view.getUint16(at + 28, true);
  const extraBytes = view.getUint16(at + 30, true);
  const next = at + 46 + nameBytes + extraBytes + view.getUint16(at + 32, true);
  if (next > view.byteLength) throw invalid('its directory is damaged');
  const name = new TextDecoder().decode(
    new Uint8Array(view.buffer, view.byteOffset + at + 46, nameBytes),
  );
  if ((view.getUint16(at + 8, true) & 1) !== 0) {
    throw new NpyError(
      'NPY_UNSUPPORTED',
      `Cannot read the archive: member ${quoted(name)} is encrypted. Save it without a password.`,
    );
  }
  const methodCode = view.getUint16(at + 10, true);
  if (methodCode !== 0 && methodCode !== 8) {
    throw new NpyError(
      'NPY_UNSUPPORTED',
      `Cannot read the archive: member ${quoted(name)} uses compression method ${methodCode}; stored and deflated members are read. Save it with numpy.savez.`,
    );
  }
  const sizes = {
    expanded: view.getUint32(at + 24, true),
    stored: view.getUint32(at + 20, true),
    offset: view.getUint32(at + 42, true),
  };
  const extra = new DataView(view.buffer, view.byteOffset + at + 46 + nameBytes, extraBytes);
  widen(sizes, extra);
  if (methodCode === 0 && sizes.expanded !== sizes.stored) {
    throw invalid(`stored member ${quoted(name)} claims two different lengths`);
  }
  return {
    next,
    member: {
      name,
      method: methodCode === 0 ? 'stored' : 'deflated',
      crc32: view.getUint32(at + 16, true),
      storedBytes: sizes.stored,
      expandedBytes: sizes.expanded,
      headerOffset: sizes.offset,
      limitOffset: 0,
    },
  };
}

/** Replaces the 32-bit fields that are full by those of the 64-bit extra record. */
function widen(sizes: { expanded: number; stored: number; offset: number }, extra: DataView): void {
  let at = 0;
  while (at + 4 <= extra.byteLength) {
    const id = extra.getUint16(at, true);
    const end = at + 4 + extra.getUint16(at + 2, true);
    if (end > extra.byteLength) throw invalid('an extra record is damaged');
    if (id === 1) {
      let field = at + 4;
      for (const key of ['expanded', 'stored', 'offset'] as const) {
        if (sizes[key] !== 0xffffffff) continue;
        if (field + 8 > end) throw invalid('a 64-bit extra record is cut short');
        sizes[key] = safe(extra.getBigUint64(field, true));
        field += 8;
      }
      return;
    }
    at = end;
  }
}

/** Names must differ and members must lie one after another: overlapping members are the densest zip bombs. */
function checkLayout(members: readonly ZipMember[], directoryOffset: number): ZipMember[] {
  const names = new Set(members.map((member) => member.name));
  if (names.size !== members.length) throw invalid('two of its members have the same name');
  const order = [...members].sort((a, b) => a.headerOffset - b.headerOffset);
  const limits = new Map<ZipMember, number>();
  order.forEach((member, i) => {
    const limit = order[i + 1]?.headerOffset ?? directoryOffset;
    if (member.headerOffset + LOCAL_HEADER_BYTES + member.storedBytes > limit) {
      throw invalid(`member ${quoted(member.name)} overlaps what lies after it`);
    }
    limits.set(member, limit);
  });
  return members.map((member) => ({ ...member, limitOffset: limits.get(member) ?? 0 }));
}

function asView(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function safe(value: bigint): number {
  if (value <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(value);
  throw invalid(`an offset or length is ${value}`);
}

function invalid(why: string): NpyError {
  return new NpyError(
    'NPY_INVALID',
    `Cannot read the archive: ${why}. The file is damaged or not a .npz file; write it again.`,
  );
}
