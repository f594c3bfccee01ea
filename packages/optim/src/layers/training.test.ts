import { device } from '@mercer/tensor';
import { trainingSuite } from '../testing/training-suite.test-support.js';

trainingSuite('the CPU', () => device('cpu'));
