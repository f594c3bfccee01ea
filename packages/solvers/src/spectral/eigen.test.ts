import { device } from '@mercer/tensor';
import { eigenSuite } from '../testing/eigen-suite.test-support.js';

eigenSuite('the CPU', () => device('cpu'));
