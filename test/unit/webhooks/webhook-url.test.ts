import { describe, expect, test } from '@jest/globals';
import { HttpUrl } from '../../../src/core/domain/http-url.ts';
import { webhookUrlIssue } from '../../../src/webhooks/domain/webhook-url.ts';

const urls = [
  ...['https://shop.example/hook', 'https://shop.example', 'HTTPS://Shop.Example:8443/Hook?a=b&c=%20#x'],
  ...['http://127.0.0.1:3000/hook', 'http://localhost/hook', 'https://[2001:db8::1]/hook'],
  ...[
    'https://shop_1.example./hook',
    '',
    'shop.example/hook',
    '//shop.example/hook',
    'ftp://shop.example/hook',
  ],
  ...['javascript:alert(1)', 'https://', 'https:///hook', 'https://user:secret@shop.example/hook'],
  ...['https://user@shop.example', 'https://shop.example\\@evil.example/', 'https://shop.example/with space'],
  ...['https://shop.example/tab\there', 'https://shop.example/é', 'https://shop.example/%zz'],
  ...['https://0x7f.1/hook', 'https://2130706433/hook', 'https://127.1/hook'],
  ...['https://shop.example:99999/hook', 'https://shop.example:port/hook'],
  ...['https://-shop.example/hook', 'https://shop..example/hook'],
  ...[2048, 2049].map((length) => 'https://shop.example/'.padEnd(length, 'x')),
];

describe.each(['SANDBOX', 'PRODUCTION'] as const)('in %s', (environment) => {
  test.each(urls)('%s is validated as core validates the webhook_url of an order', (url) => {
    const core = HttpUrl.parse(url, 'webhook_url', environment);
    expect(webhookUrlIssue(url, environment)).toBe(core.ok ? undefined : core.error.issue);
  });
});
