import { readFile } from 'node:fs/promises';
import type { FastifyInstance } from 'fastify';
import { escapeHtml } from './html.ts';
import type { ChargeView, PromptView, SimulatedWallet } from './simulated-wallet.ts';

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

/** GET /: live prompts and charges, with buttons for prompts that wait for a person. */
export async function addPage(app: FastifyInstance, options: PageOptions): Promise<void> {
  const [script, style] = await Promise.all(
    ['page.js', 'page.css'].map((name) => readFile(new URL(name, import.meta.url), 'utf8')),
  );
  app.addHook('onRequest', async (_request, reply) => void reply.headers(headers));
  app.get('/', (_request, reply) => reply.type('text/html; charset=utf-8').send(pageHtml(options)));
  app.get('/live', (_request, reply) =>
    reply.type('text/html; charset=utf-8').send(listsHtml(options.wallets)),
  );
  app.get('/page.js', (_request, reply) => reply.type('text/javascript; charset=utf-8').send(script));
  app.get('/page.css', (_request, reply) => reply.type('text/css; charset=utf-8').send(style));
}

function pageHtml({ wallets, interactive }: PageOptions): string {
  const how = interactive
    ? 'Numbers without a fixed outcome wait for you to approve or decline.'
    : 'Every number without a fixed outcome pays by itself. To decide yourself, start with ' +
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
<p>No real money. ${how}</p>
<main id="live">${listsHtml(wallets)}</main>
</body>
</html>
`;
}

function newestFirst<T>(records: readonly T[], at: (record: T) => string): readonly T[] {
  return records.toSorted((a, b) => at(b).localeCompare(at(a))).slice(0, maxShown);
}

function listsHtml(wallets: readonly SimulatedWallet[]): string {
  const prompts = newestFirst(
    wallets.flatMap((wallet) => wallet.prompts()),
    ({ created_at }) => created_at,
  );
  const charges = newestFirst(
    wallets.flatMap((wallet) => wallet.charges()),
    ({ charged_at }) => charged_at,
  );
  return `<section aria-labelledby="prompts"><h2 id="prompts">Prompts</h2>
${listHtml(prompts.map(promptHtml), 'No payment has been asked for yet.')}</section>
<section aria-labelledby="charges"><h2 id="charges">Charges</h2>
${listHtml(charges.map(chargeHtml), 'Nobody has been charged yet.')}</section>
`;
}

const listHtml = (items: readonly string[], otherwise: string): string =>
  items.length === 0 ? `<p>${otherwise}</p>` : `<ul>\n${items.join('\n')}\n</ul>`;

function promptHtml(prompt: PromptView): string {
  const { wallet, channel, payer, amount, currency, description, status, awaits_person: awaits } = prompt;
  const where = channel === 'wallet' ? 'in the wallet’s app' : 'by USSD';
  const reason = prompt.error === null ? '' : ` (${prompt.error.provider_code ?? prompt.error.code})`;
  return `<li class="${status}">
<p class="amount">${escapeHtml(`${amount} ${currency}`)}</p>
<p>${escapeHtml(`+${payer}`)} ${where}, ${wallet}</p>
<p>${escapeHtml(description)}</p>
<p class="small">${escapeHtml(`${prompt.shown_status}${reason}; ${prompt.outcome};`)} ${timeHtml(prompt.created_at)}</p>
${awaits && status === 'open' ? buttonsHtml(prompt) : ''}</li>`;
}

function buttonsHtml({ id, amount, currency, payer }: PromptView): string {
  const button = (decision: 'approve' | 'decline', label: string): string =>
    `<form method="post" action="/simulator/prompts/${id}/${decision}"><button id="${decision}-${id}" class="${decision}" ` +
    `aria-label="${escapeHtml(`${label} ${amount} ${currency} from +${payer}`)}">${label}</button></form>`;
  return `<div class="buttons">${button('approve', 'Approve')}${button('decline', 'Decline')}</div>`;
}

function chargeHtml(charge: ChargeView): string {
  const reversed = charge.reversed === '0' ? '' : `, ${charge.reversed} ${charge.currency} given back`;
  return `<li class="completed">
<p class="amount">${escapeHtml(`${charge.amount} ${charge.currency}`)}</p>
<p>${escapeHtml(`+${charge.payer}, ${charge.wallet}${reversed}`)}</p>
<p class="small">${escapeHtml(`${charge.transaction_reference};`)} ${timeHtml(charge.charged_at)}</p></li>`;
}

const timeHtml = (time: string): string => `<time datetime="${time}">${time}</time>`;
