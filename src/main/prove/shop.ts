import { setTimeout as delay } from 'node:timers/promises';

/** A response of the merchant API. */
export interface Reply {
  readonly status: number;
  readonly body: {
    readonly message?: string;
    readonly payment_status?: string;
    readonly data?: Readonly<Record<string, string>>;
  };
}

/** A shop's calls to the merchant API. It repeats a request with the same values until the gateway has decided it. */
export interface Shop {
  /** The reply 2xx, or a final refusal. @throws the reason of the signal when that aborts first */
  readonly post: (path: string, body: object, headers?: Readonly<Record<string, string>>) => Promise<Reply>;
  /** Requests without a final answer so far. */
  readonly unanswered: () => number;
}

const retryMs = 300;
const timeoutMs = 20_000;
/** Whether a repeat would get the same answer. With any other status, the shop sends the request again. */
const isFinal = (status: number): boolean => status < 400 || [400, 401, 403, 404, 409].includes(status);

export function openShop(origin: string, apiKey: string, giveUp: AbortSignal): Shop {
  let unanswered = 0;
  const postOnce = async (path: string, body: object, headers: object): Promise<Reply | undefined> => {
    try {
      const response = await fetch(`${origin}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', apiKey, ...headers },
        body: JSON.stringify(body),
        signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), giveUp]),
      });
      const answer = (await response.json()) as Reply['body'];
      return isFinal(response.status) ? { status: response.status, body: answer } : undefined;
    } catch {
      return undefined;
    }
  };
  return {
    unanswered: () => unanswered,
    async post(path, body, headers = {}) {
      for (;;) {
        giveUp.throwIfAborted();
        const reply = await postOnce(path, body, headers);
        if (reply !== undefined) return reply;
        unanswered += 1;
        await delay(retryMs, undefined, { signal: giveUp });
      }
    },
  };
}
