import { deliveryStates } from './delivery-words.ts';
import type { DeliveryState } from '../../gen/gatehouse/v1/webhook_service_pb.js';

/** Which deliveries somebody looks for, as the page's address says it. */
export interface DeliveryFilter {
  readonly state: string;
  readonly orderNumber: string;
  readonly endpoint: string;
  readonly isEmpty: boolean;
  /** Whether it is not the newest that are shown. */
  readonly isLaterPage: boolean;
  /** As ListDeliveries takes it. */
  readonly conditions: {
    readonly states: DeliveryState[];
    readonly orderNumber: string;
    readonly endpoint: string;
    readonly pageToken: string;
  };
  /** The query of the page that begins at a token; undefined when there is none. */
  readonly withPage: (pageToken: string) => string | undefined;
}

const isState = (text: string): text is keyof typeof deliveryStates => Object.hasOwn(deliveryStates, text);

/** Scheme, host and port of what may be a whole URL. What is no URL is looked for as it is, and finds nothing. */
function endpointOf(text: string): string {
  if (!URL.canParse(text)) return text;
  const { origin } = new URL(text);
  return origin === 'null' ? text : origin;
}

export function readDeliveryFilter(query: unknown): DeliveryFilter {
  const given = (name: string): string => {
    const value: unknown = (query as Readonly<Record<string, unknown>>)[name];
    return typeof value === 'string' ? value.trim().slice(0, 2048) : '';
  };
  const state = isState(given('state')) ? given('state') : '';
  const orderNumber = given('order_number');
  const endpoint = endpointOf(given('endpoint'));
  const pageToken = given('page');
  return {
    state,
    orderNumber,
    endpoint,
    isEmpty: state === '' && orderNumber === '' && endpoint === '',
    isLaterPage: pageToken !== '',
    conditions: { states: isState(state) ? [deliveryStates[state]] : [], orderNumber, endpoint, pageToken },
    withPage: (next) => {
      if (next === '') return undefined;
      const all = { state, order_number: orderNumber, endpoint, page: next };
      return `?${new URLSearchParams(Object.entries(all).filter(([, value]) => value !== '')).toString()}`;
    },
  };
}
