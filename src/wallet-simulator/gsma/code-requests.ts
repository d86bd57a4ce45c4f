import type { DelaysMs } from '../delays.ts';
import type { Timers } from '../simulated-wallet.ts';
import { authorisationCodeObject } from './authorisation-codes.ts';
import type { AuthorisationCode, AuthorisationCodes } from './authorisation-codes.ts';
import type { CallbackSender } from './callbacks.ts';

/** A request for an authorisation code that is answered with 202. The contract calls it a request state. */
interface CodeRequest {
  readonly serverCorrelationId: string;
  readonly code: AuthorisationCode;
  readonly expiresAt: Date;
  isDone: boolean;
}

/** The requests for authorisation codes, by each of their ids. */
export interface CodeRequests {
  /** Remembers the id with which a client requested a code. */
  readonly name: (correlationId: string | undefined, code: AuthorisationCode) => void;
  /** Completes the request after a while, and then sends the code to the URL. Returns the request state. */
  readonly accept: (
    code: AuthorisationCode,
    callbackUrl: string,
    correlationId: string | undefined,
  ) => object;
  /** The request state; undefined for an unknown id. */
  readonly stateOf: (serverCorrelationId: string) => object | undefined;
  /** The path of the code that was requested with this id, relative to the wallet's URL. */
  readonly linkOf: (correlationId: string) => string | undefined;
  /** Cancels all pending events. */
  readonly close: () => void;
}

interface CodeRequestOptions {
  readonly codes: AuthorisationCodes;
  readonly delaysMs: DelaysMs;
  readonly after: Timers;
  readonly newUuid: () => string;
  readonly callBack: CallbackSender;
}

export function createCodeRequests(options: CodeRequestOptions): CodeRequests {
  const { codes, delaysMs, after, newUuid, callBack } = options;
  const requests = new Map<string, CodeRequest>();
  const links = new Map<string, string>();
  const timers = new Set<() => void>();

  return {
    name: (correlationId, { account, code }) => {
      if (correlationId === undefined) return;
      links.set(correlationId.toLowerCase(), `/accounts/${account}/authorisationcodes/${code}`);
    },
    accept: (code, callbackUrl, correlationId) => {
      const request: CodeRequest = {
        serverCorrelationId: newUuid(),
        code,
        isDone: false,
        expiresAt: new Date(code.createdAt.getTime() + delaysMs.promptExpiry),
      };
      requests.set(request.serverCorrelationId.toLowerCase(), request);
      const cancel = after(delaysMs.payerAnswer, () => {
        timers.delete(cancel);
        request.isDone = true;
        void callBack(callbackUrl, correlationId, authorisationCodeObject(code, codes.stateOf(code)));
      });
      timers.add(cancel);
      return stateObject(request);
    },
    stateOf: (id) => {
      const request = requests.get(id.toLowerCase());
      return request === undefined ? undefined : stateObject(request);
    },
    linkOf: (correlationId) => links.get(correlationId.toLowerCase()),
    close: () => {
      for (const cancel of timers) cancel();
      timers.clear();
    },
  };
}

const stateObject = ({ serverCorrelationId, code, expiresAt, isDone }: CodeRequest): object => ({
  serverCorrelationId,
  objectReference: code.code,
  status: isDone ? 'completed' : 'pending',
  notificationMethod: 'callback',
  ...(isDone ? {} : { pendingReason: 'The code is being issued', expiryTime: expiresAt.toISOString() }),
});
