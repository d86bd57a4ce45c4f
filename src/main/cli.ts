/** The command line client. It runs one command and exits with its code. */
import { randomUUID } from 'node:crypto';
import { userInfo } from 'node:os';
import { resolve } from 'node:path';
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { exitCodes } from '../cli/cli-error.ts';
import { openCore } from '../cli/core-clients.ts';
import { lostOutput } from '../cli/failure.ts';
import { createLogger } from '../platform/logger.ts';
import { runCli } from '../cli/program.ts';
import { openWebhooks } from '../cli/webhooks/webhook-clients.ts';
import { readCliSettings } from '../cli/settings.ts';
import { openCertificateFiles } from '../platform/tls/certificate-files.ts';
import { certificatePathsOf } from '../platform/tls/tls-settings.ts';
import { reportedSettings } from './unknown-settings.ts';
import { walletTools } from './wallet-tools.ts';

const projectRoot = resolve(import.meta.dirname, '../..');

/** The user that runs this, for the audit log, in the characters that a header allows. */
function actorName(): string {
  try {
    return userInfo().username.replace(/[^\x21-\x7e]/g, '_');
  } catch {
    // A container's user may have no name.
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

/** The certificates of the settings; undefined without TLS. @throws SettingsError */
function openTls() {
  const paths = certificatePathsOf(readCliSettings(process.env));
  // Their changes matter to commands that run on, such as `listen`. A command says itself that it failed.
  const logger = createLogger({ process: 'cli', instance: '', level: 'silent' }, process.stderr);
  return paths && openCertificateFiles({ paths, logger, now: () => new Date() });
}

async function openProveTools() {
  const { proveTools } = await import('./prove/prove-tools.ts');
  return proveTools(process.env, projectRoot);
}

const isJson = process.argv.includes('--json');
const outputClosed = new AbortController();
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // The reader of the output, such as `head`, may close the pipe early. A command that runs on, such as `listen`, then has no reader.
  outputClosed.abort();
  if (error.code === 'EPIPE') return;
  process.stderr.write(lostOutput(error.code, isJson));
  process.exit(exitCodes.unexpected);
});
// A command that changes something must not end in the middle of it because its progress cannot be shown.
process.stderr.on('error', () => undefined);

// Programs read both streams of a command with --json.
if (!isJson) for (const sentence of reportedSettings(process.env)) process.stderr.write(`${sentence}\n`);
process.exitCode = await runCli(process.argv.slice(2), {
  readConfig: () => {
    const config = readCliSettings(process.env);
    return { ...config, GATEHOUSE_DATA_DIR: resolve(projectRoot, config.GATEHOUSE_DATA_DIR) };
  },
  openCore: (addresses, token) =>
    openCore({ addresses, token, tls: openTls(), actor: actorName(), newRequestId: randomUUID }),
  openWebhooks: (addresses, token) =>
    openWebhooks({ addresses, token, tls: openTls(), actor: actorName(), newRequestId: randomUUID }),
  walletTools: walletTools(process.env),
  // Few commands work on the database. The others start faster without its code.
  backupTools: {
    write: async (urls, ...parts) =>
      (await import('./backup-tools.ts')).backupTools.write({ ...urls, tls: openTls() }, ...parts),
    verify: async (...parts) => (await import('./backup-tools.ts')).backupTools.verify(...parts),
    restore: async (urls, ...parts) =>
      (await import('./backup-tools.ts')).backupTools.restore({ ...urls, tls: openTls() }, ...parts),
  },
  // The campaign needs much code that no other command needs.
  proveTools: {
    run: async (...parts) => (await openProveTools()).run(...parts),
    knownKey: async (...parts) => (await openProveTools()).knownKey(...parts),
  },
  // A rehearsal runs the rules of core in this process.
  beginRehearsal: async () => (await import('../core/rehearsal/create-rehearsal.ts')).createRehearsal(),
  readInput: (file) => (file === '-' ? text(process.stdin) : readFile(file, 'utf8')),
  stdout: (text) => void process.stdout.write(text),
  stderr: (text) => void process.stderr.write(text),
  width: process.stdout.isTTY ? process.stdout.columns : undefined,
  now: () => new Date(),
  interruption: () => {
    const interruption = new AbortController();
    // Only once, so that a second signal ends the process at once.
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interruption.abort());
    return AbortSignal.any([interruption.signal, outputClosed.signal]);
  },
  nodeVersion: process.version,
});
