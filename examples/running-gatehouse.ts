import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The fields of `demo.json`, which `npm start` writes, that these examples use. */
export interface RunningGatehouse {
  /** host:port of core's gRPC. */
  readonly grpc: string;
  /** Base URL of core's Connect. */
  readonly connect: string;
  readonly tokens: { readonly reader: string; readonly writer: string };
  readonly merchant: { readonly id: string };
}

/** Finds the Gatehouse that runs on this machine. @throws Error if none was ever started in this folder */
export async function findRunningGatehouse(): Promise<RunningGatehouse> {
  const file = join(process.env['GATEHOUSE_DATA_DIR'] ?? '.gatehouse', 'demo.json');
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new Error(`cannot read ${file}: start Gatehouse with npm start, and run this in the same folder`, {
      cause,
    });
  });
  return JSON.parse(text) as RunningGatehouse;
}
