import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { cpus, release, totalmem, type } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { ProveReport } from '../../cli/prove/report.ts';
import { systemPath } from '../local/system-path.ts';

/** The version of Gatehouse in a folder, and its commit if the folder is a repository. */
export async function describeGatehouse(projectRoot: string): Promise<ProveReport['gatehouse']> {
  const { version } = JSON.parse(await readFile(join(projectRoot, 'package.json'), 'utf8')) as {
    readonly version: string;
  };
  return { version, commit: outputOf('git', ['-C', projectRoot, 'rev-parse', 'HEAD']) };
}

/** The machine of a campaign, for its report. */
export async function describeMachine(folder: string, databaseUrl: string): Promise<ProveReport['machine']> {
  const processors = cpus();
  return {
    system: `${type()} ${release()}`,
    processors: `${processors.length} × ${processors[0]?.model.trim() ?? 'unknown'}`,
    memory_bytes: totalmem(),
    node: process.version,
    // A database that has failed since must not cost the report of the whole campaign.
    database: await databaseVersion(databaseUrl).catch(() => 'unknown'),
    file_system: outputOf('findmnt', ['--noheadings', '--output', 'FSTYPE', '--target', folder]) || 'unknown',
  };
}

/** How long the report waits for a database that may hang. */
const answerMs = 5_000;

async function databaseVersion(connectionString: string): Promise<string> {
  const limits = { connectionTimeoutMillis: answerMs, query_timeout: answerMs };
  const client = new pg.Client({ connectionString, ...limits });
  // The running query fails with the same error. Without a listener, it would end the process.
  client.on('error', () => undefined);
  await client.connect();
  try {
    const { rows } = await client.query<{ server_version: string }>('show server_version');
    return `PostgreSQL ${rows[0]?.server_version ?? ''}`;
  } finally {
    await client.end();
  }
}

/** The output of a program; empty when it fails or is not there. */
function outputOf(command: string, args: readonly string[]): string {
  const { status, stdout } = spawnSync(command, args, {
    encoding: 'utf8',
    env: { PATH: systemPath(process.env['PATH']) },
  });
  return status === 0 ? stdout.trim() : '';
}
