import { PlanError } from '@mercer/kernels';
import { describe, expect, it } from 'vitest';
import { LazyError, lazyI, lazyJ } from './index.js';
import { translated, translatedSteps } from './lazy-error.js';
import { combine } from './symbolic.js';

const thrownBy = (run: () => unknown): unknown => {
  try {
    return run();
  } catch (error) {
    return error;
  }
};

const overflow = (): never => overflow();

describe('what a step throws', () => {
  it.each(['UNSUPPORTED', 'LIMIT', 'INVALID_ARGUMENT'] as const)(
    'is a LazyError where a planner refuses: %s',
    (code) => {
      const refusal = new PlanError(code, 'cannot plan: too large');
      const refuse = (): never => {
        throw refusal;
      };
      const expected = { code, message: 'sum: cannot plan: too large', cause: refusal };
      const error = thrownBy(() => translated('sum', refuse));
      expect(error).toBeInstanceOf(LazyError);
      expect(error).toMatchObject(expected);
      const steps = (function* () {
        yield;
        return refuse();
      })();
      expect(thrownBy(() => [...translatedSteps('sum', steps)])).toMatchObject(expected);
    },
  );

  it.each([new RangeError('beyond'), new TypeError('no object'), new Error('other')])(
    'is itself where it is a fault: %s',
    (fault) => {
      const step = (): never => {
        throw fault;
      };
      expect(thrownBy(() => translated('sum', step))).toBe(fault);
    },
  );
});

describe('a call', () => {
  const [x, y] = [lazyI([[1, 2]]), lazyJ([[1, 2]])];

  it('ends with the RangeError of a rule that overflows the stack', () => {
    const error = thrownBy(() => combine('sqdist', [x, y], overflow));
    expect(error).toBeInstanceOf(RangeError);
    expect(error).toHaveProperty('message', 'Maximum call stack size exceeded');
  });

  it('ends with UNSUPPORTED where there is no kernel', async () => {
    const error: unknown = await x
      .mul(y)
      .prod('j', { sumScheme: 'kahan' } as never)
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(LazyError);
    expect(error).toMatchObject({ code: 'UNSUPPORTED', cause: { name: 'PlanError' } });
  });
});
