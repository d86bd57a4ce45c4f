import { isPublicId } from '../../contract/public-id.ts';
import { pageQuery, textIn } from '../page-query.ts';
import { deliveryStates } from './delivery-words.ts';
import type { DeliveryState } from '../../gen/gatehouse/v1/webhook_service_pb.js';

/** The filter of the list of deliveries, from the page's query. */
export interface DeliveryFilter {
  readonly state: string;
  readonly orderNumber: string;
  readonly endpoint: string;
  /** "whe_…" */
  readonly webhookEndpointId: string;
  readonly isEmpty: boolean;
  /** Whether a delivery can match. `webhooks` refuses other order numbers and endpoints. */
  readonly isPossible: boolean;
  /** Whether the page is not the first. */
  readonly isLaterPage: boolean;
  /** The fields of the ListDeliveries request. */
  readonly conditions: {
    readonly states: DeliveryState[];
    readonly orderNumber: string;
    readonly endpoint: string;
    readonly webhookEndpointId: string;
    readonly pageToken: string;
  };
  /** The query of the page at a token; undefined without a token. */
  readonly withPage: (pageToken: string) => string | undefined;
}

const isState = (text: string): text is keyof typeof deliveryStates => Object.hasOwn(deliveryStates, text);

/** Scheme, host and port of a URL. Any other text stays as it is. */
const endpointOf = (text: string): string => (isHttp(text) ? new URL(text).origin : text);

const isHttp = (text: string): boolean => /^https?:/i.test(text) && URL.canParse(text);

const orderNumberForm = /^[!-~]{0,64}$/;

export function readDeliveryFilter(query: unknown): DeliveryFilter {
  const given = (name: string): string => textIn(query, name);
  const state = isState(given('state')) ? given('state') : '';
  const orderNumber = given('order_number');
  const endpoint = endpointOf(given('endpoint'));
  // Another text would be refused. The page then shows no endpoint's deliveries.
  const asked = given('webhook_endpoint');
  const webhookEndpointId = isPublicId('whe', asked) ? asked : '';
  const pageToken = given('page');
  return {
    state,
    orderNumber,
    endpoint,
    webhookEndpointId,
    isPossible: (endpoint === '' || isHttp(endpoint)) && orderNumberForm.test(orderNumber),
    isEmpty: state === '' && orderNumber === '' && endpoint === '' && webhookEndpointId === '',
    isLaterPage: pageToken !== '',
    conditions: {
      states: isState(state) ? [deliveryStates[state]] : [],
      orderNumber,
      endpoint,
      webhookEndpointId,
      pageToken,
    },
    withPage: (next) =>
      pageQuery({ state, order_number: orderNumber, endpoint, webhook_endpoint: webhookEndpointId }, next),
  };
}
