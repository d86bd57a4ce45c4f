import { randomUUID } from 'node:crypto';
import { refusesTokenBy } from './connector/access-tokens.ts';
import type { ConnectorOptions } from './connector/connector-kind.ts';
import type { Acknowledgement, Health, PaymentOutcome, Recovery } from './connector/outcomes.ts';
import type { RawExchange } from './connector/raw-exchange.ts';
import type { WalletConnector } from './connector/wallet-connector.ts';

/** A wallet's report about its health, and about our credentials. */
export interface WalletCheck {
  readonly health: Health['kind'];
  readonly credentials: 'accepted' | 'refused' | 'unknown';
  /** Why, if it is not good; for the operator. */
  readonly detail: string;
}

/**
 * The callback address of a connector that only checks credentials. It needs no answer that comes by callback, and compares only our host.
 * @param ownUrl our URL for callbacks, if it is known
 */
export const withoutCallbacks = (
  ownUrl: () => string | undefined,
): Pick<ConnectorOptions, 'callbackBaseUrl' | 'callbackHost'> => ({
  callbackBaseUrl: () => 'https://gatehouse.invalid',
  callbackHost: () => {
    const url = ownUrl();
    return url === undefined ? undefined : new URL(url).hostname;
  },
});

/**
 * Tries the credentials without moving money: it asks the wallet about a payment that does not exist. A wallet that answers
 * anything but "unauthenticated" has accepted them. A wallet that issues no access token has refused them. A connector that
 * cannot ask about such a payment has only its health check, for which the wallet issues an access token.
 */
export async function checkWallet(connector: WalletConnector, signal: AbortSignal): Promise<WalletCheck> {
  const { result: health, exchanges: ofHealth } = await connector.health({ signal });
  // If the health check sent no request, the connector still has a token that the wallet issued for these credentials.
  const holdsToken = health.kind === 'unreported' && ofHealth.length === 0;
  const id = randomUUID();
  const { result, exchanges } = connector.capabilities.recovery
    ? await connector.recover(id, { signal })
    : await connector.query(
        {
          attemptId: id,
          providerReference: id,
          amount: '1',
          currency: 'ETB',
          callbackToken: 'none',
          callbackNotes: [],
        },
        { signal },
      );
  const byAnswer = (): WalletCheck['credentials'] => {
    if ([...ofHealth, ...exchanges].some(refusesToken)) return 'refused';
    if (exchanges.length > 0) return credentialsBy(result);
    return health.kind === 'available' || holdsToken ? 'accepted' : 'unknown';
  };
  const credentials = byAnswer();
  // The answer about a payment that does not exist is reported only if it explains a problem. Both may have failed for the same reason.
  const asked = credentials === 'accepted' || exchanges.length === 0 ? [] : [result];
  const details = [...(holdsToken ? [] : [health]), ...asked].map((each) =>
    'detail' in each ? each.detail : '',
  );
  return {
    health: health.kind,
    credentials,
    detail: [...new Set(details)].filter((text) => text !== '').join('; '),
  };
}

const refusesToken = ({ purpose, status }: RawExchange): boolean =>
  purpose === 'token' && refusesTokenBy(status);

function credentialsBy(result: PaymentOutcome | Recovery | Acknowledgement): WalletCheck['credentials'] {
  if (result.kind !== 'unknown') return 'accepted';
  switch (result.why) {
    case 'unauthenticated':
      return 'refused';
    case 'timeout':
    case 'aborted':
    case 'connection_lost':
    case 'not_asked':
    case 'answer_too_large':
    case 'unreadable_answer':
    case 'server_error':
    case 'rate_limited':
      return 'unknown';
    case 'unexpected_status':
    case 'duplicate_request':
    case 'not_found':
    case 'unrecognised_status':
    case 'unrecognised_code':
    case 'inconsistent':
      return 'accepted';
  }
}
