import { device } from './index.js';
import { afterAll, beforeAll, vi } from 'vitest';
import { describeSecondOrder } from './testing/kernel-second-order-suite.test-support.js';

// Rules run on many small kernels: compiling them would take most of the time, and they have tests of their own.
beforeAll(() => vi.stubEnv('MERCER_CPU', 'interpreted'));
afterAll(() => vi.unstubAllEnvs());

describeSecondOrder(() => device('cpu'));
