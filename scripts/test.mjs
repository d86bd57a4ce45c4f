import './prepare-tests.mjs';
import { runInForeground } from './install.mjs';

// The variables of PostgreSQL's clients, such as PGSSLMODE, would change the connections of all tests.
for (const name of Object.keys(process.env)) if (name.startsWith('PG')) delete process.env[name];
const jest = ['--disable-warning=ExperimentalWarning', 'node_modules/jest/bin/jest.js'];
runInForeground([...jest, ...process.argv.slice(2)], { ipc: false });
