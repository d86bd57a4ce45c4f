import { findOrInstallNatsServer } from '../src/main/local/nats-binary.ts';
import { StartError } from '../src/main/local/start-error.ts';
import { installNode20 } from './node-20.ts';
import { installPromtool } from './promtool.ts';

const report = (line: string): void => console.log(line);
try {
  await findOrInstallNatsServer({ report, signal: new AbortController().signal });
  installNode20(report);
  installPromtool(report);
} catch (error) {
  if (!(error instanceof StartError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
