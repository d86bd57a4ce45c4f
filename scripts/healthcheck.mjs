// The container's health check. It probes each listener that the process in this container may have. It fails if one
// answers that it is unhealthy, or if none answers.
const port = (setting, otherwise) => process.env[setting] || otherwise;
const timeoutMs = 4_000;

async function ask(url, init) {
  try {
    const answer = await fetch(url, { ...init, signal: AbortSignal.timeout(timeoutMs) });
    return answer.ok ? await answer.json() : { status: answer.status };
  } catch (error) {
    return error?.cause?.code === 'ECONNREFUSED' ? undefined : { status: String(error) };
  }
}

const rpcServers = [
  port('GATEHOUSE_CORE_CONNECT_PORT', 50052),
  port('GATEHOUSE_WEBHOOKS_CONNECT_PORT', 50054),
].map((number) =>
  ask(`http://127.0.0.1:${number}/grpc.health.v1.Health/Check`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  }),
);
const others = [
  port('GATEHOUSE_REST_PRODUCTION_PORT', 8080),
  port('GATEHOUSE_CHECKOUT_PORT', 8082),
  port('GATEHOUSE_DASHBOARD_PORT', 8083),
  port('GATEHOUSE_WALLET_CALLBACK_PORT', 8084),
  port('GATEHOUSE_SIMULATOR_PORT', 8090),
].map((number) => ask(`http://127.0.0.1:${number}/healthz`));

const answers = (await Promise.all([...rpcServers, ...others])).filter((answer) => answer !== undefined);
const isHealthy =
  answers.length > 0 && answers.every(({ status }) => status === 'SERVING' || status === 'ok');
if (!isHealthy)
  console.error('not healthy:', answers.length > 0 ? JSON.stringify(answers) : 'nothing listens');
process.exitCode = isHealthy ? 0 : 1;
