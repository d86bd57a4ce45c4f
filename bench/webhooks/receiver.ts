/**
 * A merchant's server in its own process. It reports the arrival of each webhook, by the clock that all processes
 * share.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

let arrivals: [string, number][] = [];
const server = createServer({ keepAliveTimeout: 120_000 }, (request, response) => {
  arrivals.push([String(request.headers['webhook-id']), Number(process.hrtime.bigint()) / 1e6]);
  // The server of an unavailable merchant accepts the request and never answers.
  if (request.headers.host?.startsWith('localhost') === true) return;
  request.resume().once('end', () => response.writeHead(204).end());
});
server.listen(0, '127.0.0.1', () => {
  process.send?.({ port: (server.address() as AddressInfo).port });
});
setInterval(() => {
  if (arrivals.length > 0) process.send?.({ arrivals });
  arrivals = [];
}, 20);
process.once('disconnect', () => process.exit());
