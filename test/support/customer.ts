/** Answers as received. Redirects are not followed. */
export interface PageAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/** A customer's browser at the level of HTTP: it keeps cookies, sends the origin of forms, and runs no scripts. */
export interface Customer {
  readonly cookies: Map<string, string>;
  readonly get: (url: string, headers?: Record<string, string>) => Promise<PageAnswer>;
  readonly post: (
    url: string,
    fields?: Record<string, string>,
    headers?: Record<string, string>,
  ) => Promise<PageAnswer>;
}

/**
 * The function that sends requests. It has the form of `fetch`. A test can pass one from another address, or with
 * another certificate authority.
 */
export type SendRequest = (
  url: string,
  init: {
    readonly method: 'GET' | 'POST';
    readonly body?: URLSearchParams;
    readonly redirect: 'manual';
    readonly headers: Record<string, string>;
  },
) => Promise<{ readonly status: number; readonly headers: Headers; readonly text: () => Promise<string> }>;

/** The output of a template for a missing text or value. TypeScript does not check templates. */
const faultOfTemplate = /\b(undefined|NaN|Invalid Date)\b|\[object \w+\]/;

export function createCustomer(sendRequest: SendRequest = fetch): Customer {
  const cookies = new Map<string, string>();
  const send = async (
    url: string,
    init: { readonly method: 'GET' | 'POST'; readonly body?: URLSearchParams },
    headers: Record<string, string>,
  ): Promise<PageAnswer> => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await sendRequest(url, {
      ...init,
      redirect: 'manual',
      headers: { ...(cookie === '' ? {} : { cookie }), ...headers },
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    const body = await response.text();
    const fault = response.headers.get('content-type')?.startsWith('text/html')
      ? faultOfTemplate.exec(body)?.[0]
      : undefined;
    if (fault !== undefined) throw new Error(`${init.method} ${url} shows "${fault}":\n${body}`);
    return { status: response.status, headers: response.headers, body };
  };
  return {
    cookies,
    get: (url, headers = {}) => send(url, { method: 'GET' }, headers),
    post: (url, fields = {}, headers = { 'sec-fetch-site': 'same-origin' }) =>
      send(url, { method: 'POST', body: new URLSearchParams(fields) }, headers),
  };
}

/** The fields of the form on the page to pay. */
export const payment = { payment_option: 'walleta_ussd', phone: '0911223344' };

/** The text of a page's heading, as its reader sees it. */
export function headingOf({ body }: PageAnswer): string {
  const [, heading = ''] = /<h1[^>]*>(.*?)<\/h1>/s.exec(body) ?? [];
  return heading.trim();
}
