import { findOrInstallNatsServer } from '../src/main/local/nats-binary.ts';
import { StartError } from '../src/main/local/start-error.ts';
import { findOrInstallChromium } from './chromium.ts';

try {
  await findOrInstallNatsServer({
    report: (line) => console.log(line),
    signal: new AbortController().signal,
  });
  findOrInstallChromium((line) => console.log(line));
} catch (error) {
  if (!(error instanceof StartError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
