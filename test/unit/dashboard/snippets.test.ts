import { expect, test } from '@jest/globals';
import { readSnippets, snippetLanguages } from '../../../src/dashboard/developers/snippets.ts';
import type { SnippetLanguage } from '../../../src/dashboard/developers/snippets.ts';
import { snippet } from '../../integration/webhooks/documented-snippets.ts';

const values = {
  baseUrl: 'https://api.example',
  option: 'mobilepay_ussd',
  currency: 'UGX',
  amount: '100',
};

const titles: Readonly<Record<SnippetLanguage, string>> = {
  curl: 'signatures.sh',
  typescript: 'verify-webhook.ts',
  python: 'verify_webhook.py',
  php: 'verify_webhook.php',
};

test.each(Object.entries(titles))(
  'the quick start in %s verifies signatures with the tested code of docs/webhooks.md',
  async (language, title) => {
    const { verify } = await readSnippets(language as SnippetLanguage, values);

    expect(verify).toBe(snippet(title));
  },
);

test.each(Object.keys(snippetLanguages))(
  'the quick start in %s calls the API at its address, with a payment that the wallets take',
  async (language) => {
    const { register, direct, ask } = await readSnippets(language as SnippetLanguage, values);

    expect(register).toContain('https://api.example/api/v1/register');
    expect(direct).toContain('https://api.example/api/v1/direct?payment_option=mobilepay_ussd');
    expect(ask).toContain('https://api.example/api/v1/verify');
    for (const text of [register, direct]) expect(text).toMatch(/"100"|'100'/);
    for (const text of [register, direct]) expect(text).toMatch(/"UGX"|'UGX'/);
    expect(register + direct + ask).not.toMatch(/__|walleta|ETB/);
  },
);
