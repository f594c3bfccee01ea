import { device } from '../devices.js';
import { totalsSuite } from './totals-suite.test-support.js';

totalsSuite('the CPU', () => device('cpu'));
