import { device } from '@mercer/tensor';
import { perSampleSuite } from '../testing/per-sample-suite.test-support.js';

perSampleSuite('the CPU', () => device('cpu'));
