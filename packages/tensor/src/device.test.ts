import { device } from './devices.js';
import { deviceSuite } from './testing/device-suite.test-support.js';

deviceSuite('the CPU', () => device('cpu'));
