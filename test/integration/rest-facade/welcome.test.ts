import { afterEach, expect, test } from '@jest/globals';
import { send, startFacadeOverRpc } from './facade-over-rpc.ts';
import type { FacadeOverRpc } from './facade-over-rpc.ts';

let facade: FacadeOverRpc | undefined;
afterEach(async () => {
  await facade?.close();
  facade = undefined;
});

test.each([
  ['production', 'This is production: live keys, real money.'],
  ['sandbox', 'This is the sandbox: test keys, no real money.'],
] as const)('/ of %s says what it is, and links to the reference', async (environment, words) => {
  facade = await startFacadeOverRpc({}, { environment });
  const { url } = facade;
  const browser = await send(url, { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } });
  const program = await send(url, { headers: { accept: '*/*' } });

  expect(browser.status).toBe(200);
  expect(browser.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(browser.headers.get('content-security-policy')).not.toContain('unsafe');
  expect(browser.text).toContain(words);
  const links = [...browser.text.matchAll(/href="([^"]+)"/g)].map(([, href]) => href);
  expect(links).toEqual(['/docs', '/openapi.json']);
  expect(program).toMatchObject({
    status: 200,
    json: {
      environment,
      message: expect.stringContaining(words),
      reference: '/docs',
      openapi: '/openapi.json',
    },
  });
  for (const link of links) expect((await send(`${url}${link}`)).status).toBe(200);
  expect((await send(url, { method: 'POST' })).json).toMatchObject({
    code: 404,
    details: [{ field: 'path' }],
  });
});
