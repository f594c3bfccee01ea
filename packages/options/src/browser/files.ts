import { MercerError } from '../index.js';

/** Of `node:fs`, `node:fs/promises`, `node:path`, `node:stream/promises`, `node:url`, `node:zlib`: what reaches files is refused in words. */
const refusal = (name: string) => (): never => {
  throw new MercerError(
    'UNSUPPORTED',
    `${name}: a page reaches no files. Fetch the bytes, or take them from an input element, and decode those.`,
  );
};

export const constants = { O_RDONLY: 0, O_NONBLOCK: 0, O_NOFOLLOW: 0, W_OK: 2, R_OK: 4 } as const;

export const access = refusal('access');
export const appendFileSync = refusal('appendFileSync');
export const lstat = refusal('lstat');
export const open = refusal('open');
export const opendir = refusal('opendir');
export const readFile = refusal('readFile');
export const readFileSync = refusal('readFileSync');
export const readlink = refusal('readlink');
export const readlinkSync = refusal('readlinkSync');
export const rename = refusal('rename');
export const rm = refusal('rm');
export const rmSync = refusal('rmSync');
export const unlink = refusal('unlink');
export const writeFileSync = refusal('writeFileSync');

export const dirname = refusal('dirname');
export const join = refusal('join');
export const resolve = refusal('resolve');
export const fileURLToPath = refusal('fileURLToPath');

export const pipeline = refusal('pipeline');
export const crc32 = refusal('crc32');
export const createDeflateRaw = refusal('createDeflateRaw');
export const createInflateRaw = refusal('createInflateRaw');
export const randomBytes = refusal('randomBytes');
