import { createHash } from 'node:crypto';
import { addList, addText, type KeyFields } from '../key.js';

/**
 * The key of a unit in a bundle, in hexadecimal: that of the store without the toolchain. Whoever computes it needs no compiler, and the
 * same kernel is found whatever compiler there is.
 */
export function bundleKey(fields: Omit<KeyFields, 'toolchain'>): string {
  const hash = createHash('sha256');
  addText(hash, `mercer-bundle-key/${fields.schema}`);
  addText(hash, fields.generator);
  addText(hash, fields.language);
  addText(hash, fields.target);
  addList(hash, fields.options);
  addList(hash, fields.names);
  addText(hash, fields.source);
  return hash.digest('hex');
}
