import { device } from './devices.js';
import { elementSuite } from './testing/element-suite.test-support.js';

elementSuite('the CPU', () => device('cpu'), { whole: process.env['MERCER_TEST_FULL'] === '1' });
