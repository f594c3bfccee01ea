import pc from 'picocolors';

/** The colours that the commands use; every function returns its text unchanged when colour is off. */
export type Colors = ReturnType<typeof pc.createColors>;

interface ColorStream {
  readonly isTTY?: boolean;
}

/**
 * Colour is used on a terminal only, never with NO_COLOR (any value but the empty one) or TERM=dumb;
 * FORCE_COLOR turns it on for a pipe.
 */
export function colorsFor(stream: ColorStream, env: NodeJS.ProcessEnv): Colors {
  const refused = (env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb';
  const forced = (env['FORCE_COLOR'] ?? '') !== '' && env['FORCE_COLOR'] !== '0';
  return pc.createColors(!refused && (forced || stream.isTTY === true));
}
