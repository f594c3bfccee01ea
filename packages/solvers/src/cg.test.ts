import { device } from '@mercer/tensor';
import { cgSuite } from './testing/cg-suite.test-support.js';

cgSuite('the CPU', () => device('cpu'));
