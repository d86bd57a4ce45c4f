import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** What these examples use of the `demo.json` that `npm start` writes. */
export interface RunningGatehouse {
  /** host:port of core's gRPC. */
  readonly grpc: string;
  /** Base URL of core's Connect. */
  readonly connect: string;
  readonly tokens: { readonly reader: string };
}

/** Finds the Gatehouse that runs on this machine. @throws when none was ever started from this folder */
export async function findRunningGatehouse(): Promise<RunningGatehouse> {
  const file = join(process.env['GATEHOUSE_DATA_DIR'] ?? '.gatehouse', 'demo.json');
  return JSON.parse(await readFile(file, 'utf8')) as RunningGatehouse;
}
