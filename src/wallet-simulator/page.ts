import { readFile } from 'node:fs/promises';
import type { FastifyInstance } from 'fastify';
import { escapeHtml } from './html.ts';
import type { ChargeView, Decision, PromptView, SimulatedWallet } from './simulated-wallet.ts';

const headers = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; form-action 'self'; " +
    "base-uri 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
  // Not no-referrer, because browsers would then hide the origin of the page's own forms, which would be refused.
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
};

/** The number of rows on the page. The admin API returns all. */
const maxShown = 50;

export interface PageOptions {
  readonly wallets: readonly SimulatedWallet[];
  readonly interactive: boolean;
}

/**
 * GET /: a phone that shows every open prompt with a button for each decision, and the lists of payments and charges. The
 * style of the wallets' own pages is served beside it.
 */
export async function addPage(app: FastifyInstance, options: PageOptions): Promise<void> {
  const [script, style, walletStyle] = await Promise.all(
    ['page.js', 'page.css', 'wallet-page.css'].map((name) =>
      readFile(new URL(name, import.meta.url), 'utf8'),
    ),
  );
  app.addHook('onRequest', async (_request, reply) => void reply.headers(headers));
  app.get('/', (_request, reply) => reply.type('text/html; charset=utf-8').send(pageHtml(options)));
  app.get('/live', (_request, reply) =>
    reply.type('text/html; charset=utf-8').send(listsHtml(options.wallets)),
  );
  app.get('/page.js', (_request, reply) => reply.type('text/javascript; charset=utf-8').send(script));
  app.get('/page.css', (_request, reply) => reply.type('text/css; charset=utf-8').send(style));
  app.get('/wallet-page.css', (_request, reply) => reply.type('text/css; charset=utf-8').send(walletStyle));
}

function pageHtml({ wallets, interactive }: PageOptions): string {
  const how = interactive
    ? 'A number without a fixed outcome waits until you decide.'
    : 'A number without a fixed outcome pays after a second. To decide yourself, start with ' +
      '<code>GATEHOUSE_SIMULATOR_INTERACTIVE=true</code>.';
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Wallet simulator</title>
<link rel="stylesheet" href="/page.css">
<link rel="icon" href="data:,">
<script type="module" src="/page.js"></script>
<noscript><meta http-equiv="refresh" content="3"></noscript>
</head>
<body>
<h1>Wallet simulator</h1>
<p>No real money moves. ${how}</p>
<main id="live">${listsHtml(wallets)}</main>
</body>
</html>
`;
}

function newestFirst<T>(records: readonly T[], at: (record: T) => string): readonly T[] {
  return records.toSorted((a, b) => at(b).localeCompare(at(a))).slice(0, maxShown);
}

function listsHtml(wallets: readonly SimulatedWallet[]): string {
  const prompts = wallets.flatMap((wallet) => wallet.prompts());
  const byTime = ({ created_at }: PromptView): string => created_at;
  const open = newestFirst(
    prompts.filter(({ status }) => status === 'open'),
    byTime,
  );
  const ended = newestFirst(
    prompts.filter(({ status }) => status !== 'open'),
    byTime,
  );
  const charges = newestFirst(
    wallets.flatMap((wallet) => wallet.charges()),
    ({ charged_at }) => charged_at,
  );
  const emptyPhone = prompts.length === 0 ? 'No payment has been requested yet.' : 'No prompt is open.';
  return `<section class="phone" aria-labelledby="phone"><h2 id="phone">Phone</h2>
<div class="screen">${listHtml(open.map(promptHtml), emptyPhone)}</div></section>
<div class="history">
<section aria-labelledby="ended"><h2 id="ended">Payments</h2>
${listHtml(ended.map(endedHtml), 'No payment has ended yet.')}</section>
<section aria-labelledby="charges"><h2 id="charges">Charges</h2>
${listHtml(charges.map(chargeHtml), 'No payer has been charged yet.')}</section>
</div>
`;
}

const listHtml = (items: readonly string[], otherwise: string): string =>
  items.length === 0 ? `<p class="none">${otherwise}</p>` : `<ul>\n${items.join('\n')}\n</ul>`;

const channels: Readonly<Record<PromptView['channel'], string>> = {
  ussd: 'USSD prompt',
  wallet: 'in the wallet’s app',
  page: 'on the wallet’s page',
};

const payerText = ({ payer }: PromptView): string => (payer === '' ? 'no number yet' : `+${payer}`);

function promptHtml(prompt: PromptView): string {
  const { wallet, channel, amount, currency, description, page_url: page } = prompt;
  const link = page === undefined ? '' : ` <a href="${escapeHtml(page)}">Open the page</a>`;
  return `<li class="open">
<p class="small wallet">${escapeHtml(wallet)} · ${channels[channel]}</p>
<p class="amount">${escapeHtml(`${amount} ${currency}`)}</p>
<p>${escapeHtml(description)}</p>
<p>${escapeHtml(payerText(prompt))}${link}</p>
<p class="small">${escapeHtml(`${prompt.shown_status}; ${prompt.outcome};`)} ${timeHtml(prompt.created_at)}</p>
${buttonsHtml(prompt)}</li>`;
}

const buttons: readonly (readonly [Decision, string])[] = [
  ['approve', 'Approve'],
  ['decline', 'Decline'],
  ['time_out', 'Let it time out'],
  ['lose_answer', 'Lose the answer'],
];

function buttonsHtml(prompt: PromptView): string {
  const { id, amount, currency } = prompt;
  const forms = buttons.map(
    ([decision, label]) =>
      `<form method="post" action="/simulator/prompts/${id}/${decision}"><button id="${decision}-${id}" class="${decision}" ` +
      `aria-label="${escapeHtml(`${label}: ${amount} ${currency} from ${payerText(prompt)}`)}">${label}</button></form>`,
  );
  return `<div class="buttons">${forms.join('')}</div>`;
}

function endedHtml(prompt: PromptView): string {
  const { wallet, amount, currency, status, error, callbacks } = prompt;
  const reason = error === null ? '' : ` (${error.provider_code ?? error.code})`;
  const isLost = callbacks.some(({ answer }) => answer === 'lost');
  const lost = isLost ? '<p class="lost">The answer was lost. The wallet sent no callback.</p>\n' : '';
  return `<li class="${status}">
<p class="amount">${escapeHtml(`${amount} ${currency}`)}</p>
<p>${escapeHtml(`${payerText(prompt)}, ${wallet}`)}</p>
<p>${escapeHtml(prompt.description)}</p>
${lost}<p class="small">${escapeHtml(`${prompt.shown_status}${reason}; ${prompt.outcome};`)} ${timeHtml(prompt.created_at)}</p></li>`;
}

function chargeHtml(charge: ChargeView): string {
  const reversed = charge.reversed === '0' ? '' : `, ${charge.reversed} ${charge.currency} returned`;
  return `<li class="completed">
<p class="amount">${escapeHtml(`${charge.amount} ${charge.currency}`)}</p>
<p>${escapeHtml(`+${charge.payer}, ${charge.wallet}${reversed}`)}</p>
<p class="small">${escapeHtml(`${charge.transaction_reference};`)} ${timeHtml(charge.charged_at)}</p></li>`;
}

const timeHtml = (time: string): string => `<time datetime="${time}">${time}</time>`;
