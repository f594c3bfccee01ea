import { device } from '@mercer/tensor';
import { gradientsSuite } from './testing/gradients-suite.test-support.js';

gradientsSuite('the CPU', () => device('cpu'));
