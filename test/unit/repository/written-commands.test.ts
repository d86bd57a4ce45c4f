import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { walletTools } from '../../../src/main/wallet-tools.ts';
import { runCommand } from '../../support/run-command.ts';
import { listFiles, root } from './repository-files.ts';
import { commandsIn, commandsOfPage } from './written-commands.ts';
import type { WrittenCommand } from './written-commands.ts';

const goodWallet = {
  wallet: 'walleta',
  environment: 'sandbox',
  health: 'available',
  credentials: 'accepted',
  payer_started: 'not offered',
  detail: '',
} as const;

const goodRegistration = {
  wallet: 'walleta',
  environment: 'sandbox',
  result: 'registered',
  detail: 'registered',
  validation_url: '',
  confirmation_url: '',
} as const;

async function run(args: readonly string[]) {
  const calls: string[] = [];
  const call = (): never => {
    calls.push('server');
    throw new Error('a server would be called');
  };
  const settings = {
    GATEHOUSE_CORE_ADDRESSES: '127.0.0.1:1',
    GATEHOUSE_WEBHOOKS_ADDRESSES: '127.0.0.1:1',
    GATEHOUSE_SERVICE_TOKEN: 'token',
    GATEHOUSE_DASHBOARD_BASE_URL: 'http://127.0.0.1:1',
    GATEHOUSE_WEBHOOK_SECRET: 'whsec_c2VjcmV0',
    GATEHOUSE_DATABASE_URL: 'postgres://gatehouse:secret@127.0.0.1:1/gatehouse',
  };
  const { exitCode, ...printed } = await runCommand(args, settings, {
    openCore: call,
    openWebhooks: call,
    walletTools: {
      ...walletTools({}),
      check: async () => [goodWallet],
      registerUrls: async () => [goodRegistration],
    },
    backupTools: { write: call, verify: call, restore: call },
    proveTools: { run: call, knownKey: call },
    beginRehearsal: call,
    readInput: (file) => Promise.resolve(/secret/.test(file) ? 'whsec_c2VjcmV0' : '{}'),
    // A command that waits for Ctrl-C would begin now.
    interruption: call,
  });
  return { isUnderstood: calls.length > 0 || exitCode === 0, ...printed };
}

const results = new Map<string, ReturnType<typeof run>>();

/** Runs the real program up to its first call to a server, which fails. Many commands are written more than once. */
function parse(args: readonly string[]): ReturnType<typeof run> {
  const key = args.join('\0');
  const result = results.get(key) ?? run(args);
  results.set(key, result);
  return result;
}

/** The value for a placeholder that the reader replaces, by its option or by its own name. */
const samples: readonly (readonly [name: RegExp, value: string])[] = [
  [/environment/, 'sandbox'],
  [/since|until|after|overlap|valid-for|lifetime/, '24h'],
  [/--backup-time/, '2026-01-31'],
  [/--(from|to|day)$|\.slice\(0,10\)/, '2026-01-31'],
  [/--role/, 'owner'],
  [/--outcome/, 'paid'],
  [/pat_|^<id>$/, 'pat_1'],
  [/--wallet/, 'walleta'],
  [/endpoint_id|webhook-endpoint/, 'whe_1'],
  [/endpoint|host|url|forward/i, 'https://shop.example'],
];

const isToFillIn = (word: string): boolean => /<[^>]+>|…|\$/.test(word);

/** The words of a command line, with sample values in place of the placeholders. */
function wordsOf({ text }: Pick<WrittenCommand, 'text'>): readonly string[] {
  const words = text.match(/(?:<[^>]*>|"[^"]*"|\$\{[^}]*\}|\S)+/g) ?? [];
  return words.flatMap((word, index) => {
    const flag = /^--/.test(words[index - 1] ?? '') ? (words[index - 1] ?? '') : '';
    // Alone, it means that more may follow.
    if (word === '…' && flag === '') return [];
    if (word === '${where}') return ['--environment', 'sandbox'];
    if (!isToFillIn(word)) return [word.replace(/^"(.*)"$/, '$1')];
    return [samples.find(([name]) => name.test(flag) || name.test(word))?.[1] ?? 'sample'];
  });
}

/** Whether these words are the name of a command: `order show`, without its arguments. */
async function isName(words: readonly string[]): Promise<boolean> {
  const { stdout } = await parse([...words, '--help']);
  return (
    stdout.startsWith(`Usage: gatehouse ${words.join(' ')} `) ||
    stdout.startsWith(`Usage: gatehouse ${words.join(' ')}\n`)
  );
}

const isNameInProse = async ({ isInProse }: WrittenCommand, words: readonly string[]): Promise<boolean> =>
  isInProse && words.every((word) => /^[a-z][a-z-]*$/.test(word)) && (await isName(words));

async function whatIsWrong(written: WrittenCommand): Promise<string | undefined> {
  const words = wordsOf(written);
  if (await isNameInProse(written, words)) return undefined;
  const { isUnderstood, stderr } = await parse(words);
  return isUnderstood
    ? undefined
    : `${written.where}: gatehouse ${written.text}\n  ${stderr.trim().split('\n')[0]}`;
}

/** The help of a command on one line, by its name and perhaps a value after it. */
async function helpOf(words: readonly string[]): Promise<string> {
  const firstOption = words.findIndex((word) => word.startsWith('-'));
  const start = words.slice(0, firstOption < 0 ? words.length : firstOption);
  // The help of `gatehouse reconcile` is that of the group, not of its default command.
  const name = start.join(' ') === 'reconcile' ? ['reconcile', 'run'] : start.slice(0, 3);
  const { stdout } = await parse([...name, '--help']);
  return stdout.replace(/\s+/g, ' ');
}

/** Whether these words run a command that reaches the sandbox unless they name an environment. Its help says so. */
async function isOfSandboxByDefault(words: readonly string[]): Promise<boolean> {
  const help = await helpOf(words);
  // `webhook redeliver` of one delivery needs no environment.
  return /with --since, default: sandbox/.test(help)
    ? words.includes('--since')
    : /default: sandbox/.test(help);
}

/** A `rfd_…` belongs to one environment, so `refund show` needs no other name of it. */
const namesRefundId = (text: string): boolean => /^refund show .*(rfd_|refundId|<refund_id>)/.test(text);

async function whatLacksEnvironment(written: WrittenCommand): Promise<string | undefined> {
  const words = wordsOf(written);
  if (words.includes('--environment') || words.includes('--help') || namesRefundId(written.text))
    return undefined;
  if ((await isNameInProse(written, words)) || !(await isOfSandboxByDefault(words))) return undefined;
  return `${written.where}: gatehouse ${written.text}\n  names no environment`;
}

const problemsOf = async (commands: readonly WrittenCommand[]): Promise<readonly string[]> =>
  (await Promise.all(commands.map(whatIsWrong))).filter((problem) => problem !== undefined);

describe('every command that a page, a message or a comment tells the reader to type', () => {
  let commands: readonly WrittenCommand[];

  beforeAll(async () => {
    const files = await listFiles(
      '*.md',
      'src/*.ts',
      'src/*.eta',
      'scripts/*.mjs',
      'docker-compose.yml',
      'Dockerfile',
    );
    commands = (
      await Promise.all(files.filter((file) => !file.startsWith('src/gen/')).map(commandsIn))
    ).flat();
  });

  test('is understood by the program', async () => {
    expect(await problemsOf(commands)).toEqual([]);
    // The number at the time of writing. Far fewer would mean that the search no longer finds them.
    expect(commands.length).toBeGreaterThan(150);
    for (const kind of ['.md', '.ts', '.eta'])
      expect(commands.filter(({ where }) => where.includes(`${kind}:`))).not.toEqual([]);
  });

  test('names its environment, because the finding that leads to it may be of production', async () => {
    // This page describes each command with its default.
    const advised = commands.filter(({ where }) => !where.startsWith('docs/operating/cli.md:'));
    const problems = await Promise.all(advised.map(whatLacksEnvironment));

    expect(problems.filter((problem) => problem !== undefined)).toEqual([]);
    expect(advised.filter(({ text }) => text.includes('--environment')).length).toBeGreaterThan(50);
  });

  test('is written in one form, which begins with gatehouse', async () => {
    const others = /npm run (-s )?gatehouse|npx gatehouse|node src\/main\/cli|run --rm cli/;
    const bare =
      /`(?:merchant|key|order|payment|refund|wallet|reconcile|webhook|user|audit) (?:--wallet|[a-z]+(?:-[a-z]+)*)(?: [^`]*)?`/g;
    const problems: string[] = [];
    for (const file of await listFiles('*.md', 'src/*.ts', 'src/*.eta', 'docker-compose.yml')) {
      const lines = (await readFile(join(root, file), 'utf8')).split('\n');
      // The one page that explains how to call the command in each deployment.
      for (const [index, line] of file === 'docs/operating/cli.md' ? [] : lines.entries())
        if (others.test(line)) problems.push(`${file}:${index + 1}: ${line.trim()}`);
      for (const [index, line] of file.endsWith('.md') ? lines.entries() : [])
        for (const [code] of line.matchAll(bare)) {
          const words = code.slice(1, -1).split(' ');
          const firstOther = words.findIndex((word) => !/^[a-z][a-z-]*$/.test(word));
          if (await isName(words.slice(0, firstOther < 0 ? words.length : firstOther)))
            problems.push(`${file}:${index + 1}: ${code} does not begin with gatehouse`);
        }
    }

    expect(problems).toEqual([]);
  });
});

test.each([
  ['an unknown command', '`gatehouse merchnt list`'],
  ['an unknown name in prose', '`gatehouse order shew`'],
  ['an unknown option', '```sh\ngatehouse merchant list --limt 3\n```'],
  ['an extra argument', '```sh\ngatehouse doctor now\n```'],
  ['an option without its value', '```sh\ngatehouse webhook test <merchant_id>\n```'],
])('%s would be found', async (_what, page) => {
  expect(await problemsOf(commandsOfPage('page.md', page))).toHaveLength(1);
});

test.each([
  ['gatehouse merchant wallet list <merchant_id>'],
  ['gatehouse reconcile --wallet <wallet> --day <day>'],
  ['gatehouse webhook redeliver <merchant_id> --since <time>'],
  ['gatehouse refund show <merchant_id> <refund_number>'],
])('a printed command without an environment would be found: %s', async (command) => {
  const [written] = commandsOfPage('page.md', `\`${command}\``);

  expect(await whatLacksEnvironment(written!)).toBe(`page.md:1: ${command}\n  names no environment`);
});

test.each([
  ['gatehouse merchant wallet list <merchant_id> --environment <environment>'],
  ['gatehouse key list <merchant_id>'],
  ['gatehouse webhook redeliver <merchant_id> <delivery_id>'],
  ['gatehouse refund show <merchant_id> <refund_id>'],
])('a printed command that needs no environment may lack it: %s', async (command) => {
  const [written] = commandsOfPage('page.md', `\`${command}\``);

  expect(await whatLacksEnvironment(written!)).toBeUndefined();
});
