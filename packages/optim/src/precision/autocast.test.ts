import { device } from '@mercer/tensor';
import { precisionSuite } from '../testing/precision-suite.test-support.js';

precisionSuite('the CPU', () => device('cpu'));
