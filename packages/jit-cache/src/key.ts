import { Buffer } from 'node:buffer';
import { createHash, type Hash } from 'node:crypto';
import type { CompileUnit, Toolchain } from './types.js';

/** Form of the key and of a stored row. A change here gives every unit a new key. */
export const KEY_VERSION = 1;

/** Version of what this package itself adds to a unit: the tables from options to flags. */
export const GENERATOR_VERSION = '1';

/** What a key was made of, in readable form; stored beside the entry to explain later misses. */
export interface KeyFields {
  readonly schema: number;
  readonly generator: string;
  readonly language: string;
  readonly target: string;
  readonly toolchain: string;
  readonly options: readonly string[];
  readonly names: readonly string[];
  /** SHA-256 of the source, hexadecimal. */
  readonly source: string;
}

export interface CacheKey {
  /** 32 bytes. */
  readonly bytes: Uint8Array;
  readonly hex: string;
  readonly fields: KeyFields;
}

/** Every string is preceded by its length and every list by its count, so no two units run together. */
function addText(hash: Hash, text: string): void {
  const bytes = Buffer.from(text, 'utf8');
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(bytes.length));
  hash.update(length).update(bytes);
}

function addList(hash: Hash, items: readonly string[]): void {
  addText(hash, String(items.length));
  for (const item of items) addText(hash, item);
}

/** What a unit is, whatever compiles it. */
export function unitFields(unit: CompileUnit, generator = ''): Omit<KeyFields, 'toolchain'> {
  return {
    schema: KEY_VERSION,
    generator: `${GENERATOR_VERSION}/${generator}`,
    language: unit.language,
    target: unit.target,
    options: unit.options.map(({ name, value }) => `${name}=${typeof value}:${value}`),
    names: [...new Set(unit.names)].sort(),
    source: createHash('sha256').update(unit.source, 'utf8').digest('hex'),
  };
}

/** Over all fields in their order; a key without a toolchain says nothing of one. */
function hashOf(
  kind: string,
  fields: Omit<KeyFields, 'toolchain'> & { readonly toolchain: string | undefined },
  source: string,
): Hash {
  const hash = createHash('sha256');
  addText(hash, `${kind}/${fields.schema}`);
  addText(hash, fields.generator);
  addText(hash, fields.language);
  addText(hash, fields.target);
  if (fields.toolchain !== undefined) addText(hash, fields.toolchain);
  addList(hash, fields.options);
  addList(hash, fields.names);
  addText(hash, source);
  return hash;
}

/**
 * The key of a unit: SHA-256 over schema and generator version, language, target, toolchain
 * identity, options in order, wanted names as a set, and the whole source. Nothing else: no
 * path, no environment, no device number.
 */
export function cacheKey(unit: CompileUnit, toolchain: Toolchain, generator = ''): CacheKey {
  const fields: KeyFields = {
    ...unitFields(unit, generator),
    toolchain: toolchain.identityFor?.(unit.target) ?? toolchain.identity,
  };
  const hash = hashOf('mercer-jit-key', fields, unit.source);
  const bytes = hash.digest();
  return { bytes, hex: bytes.toString('hex'), fields };
}

/**
 * The key of a unit in a bundle, in hexadecimal: that of the store without the toolchain. Whoever computes it needs no compiler, and the
 * same kernel is found whatever compiler there is.
 */
export const bundleKey = (fields: Omit<KeyFields, 'toolchain'>): string =>
  hashOf('mercer-bundle-key', { ...fields, toolchain: undefined }, fields.source).digest('hex');
