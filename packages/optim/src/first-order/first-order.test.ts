import { device } from '@mercer/tensor';
import { firstOrderSuite } from './first-order-suite.test-support.js';

firstOrderSuite('the CPU', () => device('cpu'));
