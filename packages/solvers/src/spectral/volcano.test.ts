import { device } from '@mercer/tensor';
import { volcanoSuite } from '../testing/volcano-suite.test-support.js';

volcanoSuite('the CPU', () => device('cpu'));
