import { device } from './devices.js';
import { elementSuite } from './test-support/element-suite.js';

elementSuite('the CPU', () => device('cpu'), { whole: process.env['MERCER_TEST_FULL'] === '1' });
