import { describeValue } from '@mercer/options';
import { MercerError } from '@mercer/tensor';

/**
 * The wanted names as a set.
 *
 * @throws MercerError INVALID_ARGUMENT for a name that is none of the allowed ones
 */
export function checkWrt(
  what: string,
  wrt: readonly string[],
  allowed: readonly string[],
): ReadonlySet<string> {
  if (!isList(wrt)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: wrt is ${describeValue(wrt)}. Pass a list of names, of ${allowed.join(', ')}.`,
    );
  }
  const strangers = wrt.filter((name) => !allowed.includes(name));
  if (strangers.length === 0) return new Set(wrt);
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: wrt names ${strangers.map(describeValue).join(', ')}, which this call does not have. Use some of ${allowed.join(', ')}.`,
  );
}

const isList = (wrt: unknown): wrt is readonly string[] => Array.isArray(wrt);
