import { DeliveryState, EndpointState } from '../gen/gatehouse/v1/webhook_service_pb.js';
import type { ExplainDeliveryResponse } from '../gen/gatehouse/v1/webhook_service_pb.js';
import { environmentWord } from './options.ts';
import { answered } from './output.ts';
import { showTime } from './time.ts';

/** What happens next to a delivery that has failed, by its state and that of its endpoint. */
export function showNextAttempt(explained: ExplainDeliveryResponse): string {
  const { merchantId, deliveryId, environment, state } = answered(explained.delivery);
  const endpoint = answered(explained.endpoint);
  const why = `gatehouse webhook explain ${merchantId} ${deliveryId}`;
  if (state === DeliveryState.DELIVERED) return 'It was sent again meanwhile, and is delivered.';
  if (state === DeliveryState.GIVEN_UP)
    return `It is abandoned, and is not sent again by itself. See why:\n${why}`;
  const next = showTime(explained.nextAttemptTime);
  switch (endpoint.state) {
    case EndpointState.PAUSED:
      return [
        'It is not sent again while its endpoint is paused. Once the receiver works:',
        `gatehouse webhook resume ${merchantId} ${endpoint.endpoint} --environment ${environmentWord(environment)}`,
      ].join('\n');
    case EndpointState.RESTING:
      return `The circuit of its endpoint is open, so it is sent again at ${next} or later. See why it fails:\n${why}`;
    case EndpointState.UNSPECIFIED:
    case EndpointState.OPEN:
      return next === ''
        ? `Another delivery must end first. See which:\n${why}`
        : `It is sent again at ${next}. See why it fails:\n${why}`;
  }
}
