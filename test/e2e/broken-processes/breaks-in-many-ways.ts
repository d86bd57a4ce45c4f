/** A process that is made of the same parts as all others, with mistakes that a test can trigger. */
import Fastify from 'fastify';
import { randomUUID } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { Script } from 'node:vm';
import {
  HealthCheckResponse_ServingStatus as ServingStatus,
  Health,
} from '../../../src/gen/health/v1/health_pb.js';
import { startLogging } from '../../../src/main/start-logging.ts';
import { edgeServerOptions, protectEdge } from '../../../src/platform/http/edge-server.ts';
import { stopOnSignal } from '../../../src/platform/lifecycle.ts';
import { startConnectServer } from '../../../src/platform/rpc/connect-server.ts';
import { startGrpcServer } from '../../../src/platform/rpc/grpc-server.ts';
import { rpcService } from '../../../src/platform/rpc/rpc-service.ts';

const portOf = (name: string): number => Number(process.env[name] ?? 0);
const config = {
  ...{ GATEHOUSE_INSTANCE: 'broken', GATEHOUSE_LOG_LEVEL: 'info' },
  GATEHOUSE_CORE_GRPC_PORT: portOf('GATEHOUSE_CORE_GRPC_PORT'),
  GATEHOUSE_CORE_CONNECT_PORT: portOf('GATEHOUSE_CORE_CONNECT_PORT'),
  GATEHOUSE_CHECKOUT_PORT: portOf('GATEHOUSE_CHECKOUT_PORT'),
  GATEHOUSE_HOST: process.env['GATEHOUSE_HOST'] ?? '127.0.0.1',
  GATEHOUSE_METRICS_HOST: process.env['GATEHOUSE_METRICS_HOST'] ?? '127.0.0.1',
};
const { logger } = startLogging('broken', config);
if (process.env['BREAK'] === 'while-starting') throw new Error('broken while starting');

let idsBroken = false;
const newRequestId = (): string => {
  const broken = idsBroken;
  idsBroken = false;
  if (broken) throw new Error('broken before there is a request');
  return randomUUID();
};
const edge = { logger, trustedProxies: [], newRequestId };
const app = Fastify(edgeServerOptions(edge));
protectEdge(app, edge, () => new Error('refused'));
app.addHook('onRequest', async ({ url }) => {
  if (url === '/hook') throw new Error('broken in a hook');
});
app.setErrorHandler((error, { url }) => {
  if (url === '/error-handler') throw new Error('broken in the error handler');
  throw error;
});
app.get('/healthz', () => ({ pid: process.pid }));
app.get('/ids', () => {
  idsBroken = true;
  return {};
});
for (const path of ['/handler', '/error-handler']) {
  app.get(path, () => {
    throw new Error('broken in a handler');
  });
}
app.get('/rejection', async () => Promise.reject(new Error('broken in a promise')));
app.get('/later/exception', () => {
  setImmediate(() => {
    throw new Error('broken later');
  });
  return {};
});
app.get('/later/rejection', () => {
  void Promise.reject(new Error('broken later'));
  return {};
});
app.get('/later/nothing', () => {
  // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- a dependency may reject with nothing
  void Promise.reject();
  return {};
});
/** V8 finds an inner contradiction, and ends in an instruction that the processor refuses. */
app.get('/later/crash', () => {
  setImmediate(() => {
    setFlagsFromString('--allow-natives-syntax');
    new Script('%AbortJS("broken within V8")').runInThisContext();
  });
  return {};
});

const { spec: health } = rpcService(
  Health,
  {
    check: ({ service }) => {
      if (service === 'throw') throw new Error('broken in a call');
      // A message that cannot be written.
      if (service === 'message') return { status: Number.NaN };
      return { status: ServingStatus.SERVING };
    },
    list: () => ({}),
    watch: () => {
      throw new Error('broken in a stream');
    },
  },
  { check: 'anyone', list: 'anyone', watch: 'anyone' },
);
const { GATEHOUSE_HOST: host, GATEHOUSE_METRICS_HOST: httpHost } = config;
const rpc = { host, services: [health], logger };
const grpc = await startGrpcServer({ ...rpc, port: config.GATEHOUSE_CORE_GRPC_PORT });
const connect = await startConnectServer({ ...rpc, port: config.GATEHOUSE_CORE_CONNECT_PORT });
stopOnSignal(logger, [{ name: 'listener', stop: () => app.close(), timeoutMs: 1_000 }]);
await app.listen({ host: httpHost, port: config.GATEHOUSE_CHECKOUT_PORT });
logger.info({ http: app.listeningOrigin, grpc: grpc.address, connect: connect.address }, 'ready');
