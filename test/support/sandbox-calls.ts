import type { Stack, TestMerchant } from './stack.ts';
import { postJson } from './post-json.ts';

/** An answer of the merchant API. */
export interface SandboxAnswer {
  readonly status: number;
  readonly text: string;
  readonly data: Readonly<Record<string, string>>;
  /** The reasons of a refusal by field. */
  readonly issues: Readonly<Record<string, string>>;
}

/** Calls the merchant API of the sandbox as a merchant's server does. `path` follows `/api/v1/`. */
export async function callSandbox(
  { facades }: Pick<Stack, 'facades'>,
  { testKey }: Pick<TestMerchant, 'testKey'>,
  path: string,
  body: object,
): Promise<SandboxAnswer> {
  const response = await postJson(`${facades[0]?.sandbox}/api/v1/${path}`, body, { apiKey: testKey });
  const text = await response.text();
  const { data = {}, details = [] } = JSON.parse(text) as {
    data?: Record<string, string>;
    details?: { field: string; issue: string }[];
  };
  const issues = Object.fromEntries(details.map(({ field, issue }) => [field, issue]));
  return { status: response.status, text, data, issues };
}
