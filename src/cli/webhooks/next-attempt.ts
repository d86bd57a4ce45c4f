import { targetOf } from '../../contract/explanation-text.ts';
import { shellWord } from '../../contract/shell-word.ts';
import { DeliveryState, EndpointState } from '../../gen/gatehouse/v1/webhook_service_pb.js';
import type { ExplainDeliveryResponse } from '../../gen/gatehouse/v1/webhook_service_pb.js';
import { environmentWord } from '../options.ts';
import { requireField } from '../output.ts';
import { showTime } from '../time.ts';

/** The next step of a failed delivery, by the states of the delivery and its host or webhook endpoint. */
export function showNextAttempt(explained: ExplainDeliveryResponse): string {
  const delivery = requireField(explained.delivery);
  const { merchantId, deliveryId, environment, state, webhookEndpointId } = delivery;
  const endpoint = requireField(explained.endpoint);
  const why = `gatehouse webhook explain ${merchantId} ${deliveryId}`;
  if (state === DeliveryState.DELIVERED) return 'It has been delivered since then.';
  if (state === DeliveryState.GIVEN_UP)
    return `It is abandoned, and Gatehouse does not send it again automatically. To see why:\n${why}`;
  const next = showTime(explained.nextAttemptTime);
  switch (endpoint.state) {
    case EndpointState.PAUSED:
      return [
        `It is not sent while its ${targetOf(delivery)} is paused. When the receiver works, run:`,
        webhookEndpointId === ''
          ? `gatehouse webhook resume ${merchantId} ${shellWord(endpoint.endpoint)} --environment ${environmentWord(environment)}`
          : `gatehouse webhook endpoint resume ${merchantId} ${webhookEndpointId}`,
      ].join('\n');
    case EndpointState.RESTING:
      return `The circuit of its ${targetOf(delivery)} is open, so it is sent again at ${next} or later. To see why it fails:\n${why}`;
    case EndpointState.UNSPECIFIED:
    case EndpointState.OPEN:
      return next === ''
        ? `Another delivery must end first. To see which:\n${why}`
        : `It is sent again at ${next}. To see why it fails:\n${why}`;
  }
}
