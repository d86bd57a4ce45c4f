import './prepare-tests.mjs';
import { runInForeground } from './install.mjs';

const jest = ['--disable-warning=ExperimentalWarning', 'node_modules/jest/bin/jest.js'];
runInForeground([...jest, ...process.argv.slice(2)], { ipc: false });
