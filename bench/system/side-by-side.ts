import pg from 'pg';
import { heapEnvironment, heapFlags } from '../../src/main/local/heap-flags.ts';
import { startTemporaryNats } from '../../src/main/local/temporary-servers.ts';
import type { CleanUps } from './clean-ups.ts';
import { coreSettings, facadeSettings, settle, token } from './gatehouse.ts';
import { startLogged } from './logged-process.ts';

/** One of the Gatehouses that share processes. */
export interface SideBySide {
  readonly url: string;
  /** Waits until its broker has confirmed every event. */
  readonly settle: () => Promise<unknown>;
}

export interface SideBySides {
  readonly gatehouses: readonly SideBySide[];
  /** The process of all facades, and that of all cores. */
  readonly processes: readonly number[];
}

export interface SideBySideOptions {
  readonly databaseUrl: string;
  /** More settings of core and facade. */
  readonly settings: Readonly<Record<string, string>>;
}

/**
 * Starts Gatehouses with different settings. Their facades share one process, and so do their cores, because two processes of the same
 * code differ in CPU by several percent for as long as they run.
 */
export async function startSideBySide(
  each: readonly SideBySideOptions[],
  cleanUps: CleanUps,
): Promise<SideBySides> {
  const tokens = { facade: token(), operator: token() };
  const start = async (main: string, own: readonly Readonly<Record<string, string>>[]) => {
    const settings = own.map((those, index) => ({ ...those, ...each[index]?.settings }));
    const started = await startLogged({
      file: 'bench/system/same-process.ts',
      settings: {
        ...heapEnvironment,
        GATEHOUSE_BENCH_MAIN: main,
        GATEHOUSE_BENCH_EACH: JSON.stringify(settings),
      },
      nodeOptions: heapFlags,
      readyLines: each.length,
    });
    cleanUps.add(started.stop);
    return started;
  };
  const ofCores: Readonly<Record<string, string>>[] = [];
  const clients: pg.Client[] = [];
  for (const { databaseUrl } of each) {
    const broker = await startTemporaryNats();
    cleanUps.add(broker.stop);
    ofCores.push(coreSettings(databaseUrl, broker.url, tokens));
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    cleanUps.add(() => client.end());
    clients.push(client);
  }
  const cores = await start('core', ofCores);
  const facades = await start(
    'rest-facade',
    cores.allReady.map(({ grpc }) => facadeSettings([String(grpc)], tokens)),
  );
  const gatehouses = clients.map((client, index) => ({
    url: String(facades.allReady[index]?.['sandbox']),
    settle: () => settle(client),
  }));
  return { gatehouses, processes: [facades.pid, cores.pid] };
}
