import { counted } from '../../contract/counted.ts';
import type { AwaitedSecret } from '../../gen/gatehouse/v1/webhook_endpoint_service_pb.js';
import { environmentWord } from '../options.ts';
import { showTime } from '../time.ts';

/** Deliveries that wait for a signing secret, and the command that creates it. */
export function showAwaited(awaited: AwaitedSecret): string {
  const { merchantId, webhookEndpointId, pendingCount, waitTime } = awaited;
  const environment = environmentWord(awaited.environment);
  const [to, command] =
    webhookEndpointId === ''
      ? ["orders' webhook_urls", `gatehouse webhook secret rotate ${merchantId} --environment ${environment}`]
      : [webhookEndpointId, `gatehouse webhook endpoint rotate-secret ${merchantId} ${webhookEndpointId}`];
  const [count, waits] = [
    counted(pendingCount, 'delivery', 'deliveries'),
    pendingCount === 1n ? 'has' : 'have',
  ];
  return [
    `In ${environment}, ${count} to ${to} ${waits} waited since ${showTime(waitTime)} for a signing secret to be shown. Create it:`,
    command,
  ].join('\n');
}
