// The container's health check. It probes each listener that the process in this container may have. It fails if one
// answers that it is unhealthy, or if none answers.
import { readFileSync } from 'node:fs';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';

const port = (setting, otherwise) => process.env[setting] || otherwise;
const timeoutMs = 4_000;

/** RPC servers speak TLS if the process has a certificate. It is issued for another name than this loopback address. */
function tlsOptions() {
  const {
    GATEHOUSE_TLS_CA_FILE: ca,
    GATEHOUSE_TLS_CERTIFICATE_FILE: cert,
    GATEHOUSE_TLS_KEY_FILE: key,
  } = process.env;
  if (!ca || !cert || !key) return undefined;
  return {
    ca: readFileSync(ca),
    cert: readFileSync(cert),
    key: readFileSync(key),
    checkServerIdentity: () => undefined,
  };
}

function ask(number, path, { tls, method = 'GET', body = '' } = {}) {
  const options = {
    ...tls,
    host: '127.0.0.1',
    port: number,
    path,
    method,
    headers: method === 'GET' ? {} : { 'content-type': 'application/json' },
    signal: AbortSignal.timeout(timeoutMs),
  };
  return new Promise((resolve) => {
    const failed = (error) => resolve(error.code === 'ECONNREFUSED' ? undefined : { status: String(error) });
    const asking = (tls === undefined ? requestHttp : requestHttps)(options, (answer) => {
      const parts = [];
      answer.on('data', (part) => parts.push(part));
      answer.on('error', failed);
      answer.on('end', () => {
        if (answer.statusCode !== 200) return resolve({ status: answer.statusCode });
        try {
          resolve(JSON.parse(Buffer.concat(parts).toString()));
        } catch (error) {
          failed(error);
        }
      });
    });
    asking.on('error', failed);
    asking.end(body);
  });
}

const tls = tlsOptions();
const rpcServers = [
  port('GATEHOUSE_CORE_CONNECT_PORT', 50052),
  port('GATEHOUSE_WEBHOOKS_CONNECT_PORT', 50054),
].map((number) => ask(number, '/grpc.health.v1.Health/Check', { tls, method: 'POST', body: '{}' }));
const others = [
  port('GATEHOUSE_REST_PRODUCTION_PORT', 8080),
  port('GATEHOUSE_CHECKOUT_PORT', 8082),
  port('GATEHOUSE_DASHBOARD_PORT', 8083),
  port('GATEHOUSE_WALLET_CALLBACK_PORT', 8084),
  port('GATEHOUSE_SIMULATOR_PORT', 8090),
].map((number) => ask(number, '/healthz'));

const answers = (await Promise.all([...rpcServers, ...others])).filter((answer) => answer !== undefined);
const isHealthy =
  answers.length > 0 && answers.every(({ status }) => status === 'SERVING' || status === 'ok');
if (!isHealthy)
  console.error('not healthy:', answers.length > 0 ? JSON.stringify(answers) : 'nothing listens');
process.exitCode = isHealthy ? 0 : 1;
