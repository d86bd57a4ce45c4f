import { createCustomer } from './customer.ts';
import type { PageAnswer, SendRequest } from './customer.ts';

/**
 * A user's browser at the dashboard, at the level of HTTP: it keeps cookies, and sends forms as its pages contain them.
 */
export interface DashboardVisitor {
  readonly cookies: Map<string, string>;
  readonly get: (path: string) => Promise<PageAnswer>;
  /** Sends a form with the token of the page that was read last. */
  readonly post: (
    path: string,
    fields?: Readonly<Record<string, string>>,
    headers?: Record<string, string>,
  ) => Promise<PageAnswer>;
  /** Signs in with the password only. */
  readonly signIn: (login: { readonly email: string; readonly password: string }) => Promise<PageAnswer>;
}

/** The token in the forms of a page; '' when it has none. */
export const formTokenOf = ({ body }: PageAnswer): string =>
  /name="_csrf" value="([^"]*)"/.exec(body)?.[1] ?? '';

/** The value of a hidden field; undefined when the page has none of that name. */
export const hiddenField = ({ body }: PageAnswer, name: string): string | undefined =>
  new RegExp(`type="hidden" name="${name}" value="([^"]*)"`).exec(body)?.[1];

export function createDashboardVisitor(origin: string, sendRequest?: SendRequest): DashboardVisitor {
  const browser = createCustomer(sendRequest);
  let token = '';
  const keepToken = (answer: PageAnswer): PageAnswer => {
    token = formTokenOf(answer) || token;
    return answer;
  };
  const get = async (path: string): Promise<PageAnswer> => keepToken(await browser.get(`${origin}${path}`));
  const post: DashboardVisitor['post'] = async (path, fields = {}, headers) => {
    if (token === '') await get('/sign-in');
    return keepToken(await browser.post(`${origin}${path}`, { _csrf: token, ...fields }, headers));
  };
  return {
    cookies: browser.cookies,
    get,
    post,
    signIn: async ({ email, password }) => {
      await get('/sign-in');
      return post('/sign-in', { email, password });
    },
  };
}
