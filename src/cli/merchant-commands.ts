import type { Duration } from '@bufbuild/protobuf/wkt';
import type { Command } from 'commander';
import {
  CertificationPartSchema,
  GetCertificationsResponseSchema,
  MerchantSchema,
  MerchantStatusSchema,
} from '../gen/gatehouse/v1/merchant_service_pb.js';
import type {
  CertificationPart,
  GetCertificationsResponse,
  Merchant,
} from '../gen/gatehouse/v1/merchant_service_pb.js';
import type { CoreClients } from './core-clients.ts';
import { onMerchant } from './merchant-argument.ts';
import type { FindMerchant } from './merchant-argument.ts';
import { addMerchantWalletCommands } from './merchant-wallet-commands.ts';
import type { ReadInput } from './merchant-wallet-commands.ts';
import { addMerchantUpdateCommand, termsFields } from './merchant-update-command.ts';
import { durationOption, limitOption, pageTokenOption } from './options.ts';
import { requireField } from './output.ts';
import type { Output, Runner } from './output.ts';
import { collectPages, showMore } from './paging.ts';
import type { PageOptions } from './paging.ts';
import { plainJson, wordOf } from './plain-json.ts';
import { fields, table } from './table.ts';
import { showDuration, showTime } from './time.ts';

type Merchants = CoreClients['merchants'];
type MerchantReply = Promise<{ readonly merchant?: Merchant | undefined }>;

const showStatus = ({ status }: Merchant): string => wordOf(MerchantStatusSchema, status) ?? '';
const showActivation = ({ productionActivated }: Merchant): string =>
  productionActivated ? 'activated' : 'not activated';

function describeMerchant(merchant: Merchant, note = '', certifications?: GetCertificationsResponse): Output {
  const json = plainJson(MerchantSchema, merchant);
  return {
    json:
      certifications === undefined
        ? json
        : { ...json, ...plainJson(GetCertificationsResponseSchema, certifications) },
    text: (width) =>
      [
        fields(
          [
            ['Merchant', merchant.merchantId],
            ['Name', merchant.name],
            ['Status', showStatus(merchant)],
            ['Production', showActivation(merchant)],
            ['Time to pay', showDuration(merchant.sessionLifetime)],
            ...termsFields(merchant),
            ['Created', showTime(merchant.createTime)],
            ['Changed', showTime(merchant.updateTime)],
          ],
          width,
        ),
        note,
        certifications === undefined ? '' : fields(certificationFields(certifications), width),
      ]
        .filter((part) => part !== '')
        .join('\n\n'),
  };
}

/** The certifications that a merchant has or needs; without values if it has and needs none. */
function certificationFields({ certifications, requiredParts }: GetCertificationsResponse) {
  const word = (part: CertificationPart): string => wordOf(CertificationPartSchema, part) ?? '';
  const recorded = certifications.map(
    ({ part, certified, recordTime }) =>
      `${word(part)} ${certified ? 'certified' : 'NOT certified'} (${showTime(recordTime)})`,
  );
  const missing = requiredParts
    .filter((part) => !certifications.some((each) => each.part === part))
    .map((part) => `${word(part)} not tested`);
  return [
    ['Certification', [...recorded, ...missing].join('\n')],
    ['Required', requiredParts.map(word).join(', ')],
  ] as const;
}

/** Commands for one existing merchant: the call of each, and its text on success. */
const oneMerchant: readonly {
  readonly name: string;
  readonly description: string;
  readonly reason?: string;
  readonly ask: (merchants: Merchants, merchantId: string, reason: string) => MerchantReply;
  readonly note?: string;
  readonly certifications?: (merchants: Merchants, merchantId: string) => Promise<GetCertificationsResponse>;
}[] = [
  {
    name: 'show',
    description: 'show one merchant',
    ask: (merchants, merchantId) => merchants.getMerchant({ merchantId }),
    certifications: (merchants, merchantId) => merchants.getCertifications({ merchantId }),
  },
  {
    name: 'suspend',
    description:
      "disable a merchant's keys and refuse new payments and refunds of its orders; payments under way continue",
    reason: 'the reason, for the audit log',
    ask: (merchants, merchantId, reason) => merchants.suspendMerchant({ merchantId, reason }),
    note: 'All processes refuse its keys within 5 seconds. Its orders accept no new payment and no refund until it is resumed. Payments under way continue.',
  },
  {
    name: 'resume',
    description: 'end the suspension of a merchant',
    ask: (merchants, merchantId) => merchants.resumeMerchant({ merchantId }),
    note: 'All processes accept its keys again within 5 seconds.',
  },
  {
    name: 'activate-production',
    description: 'enable production and the live keys of a merchant',
    ask: (merchants, merchantId) => merchants.activateProduction({ merchantId }),
    note: 'All processes accept its live keys within 5 seconds.',
  },
];

/** `merchant …` */
export function addMerchantCommands(
  program: Command,
  run: Runner,
  find: FindMerchant,
  readInput: ReadInput,
): void {
  const merchant = program.command('merchant').description('create, show, change and suspend merchants');

  merchant
    .command('create')
    .description('create an active merchant')
    .requiredOption('--name <name>', 'shown to customers at checkout')
    .option('--production', 'accept its live keys from the start')
    .option(
      '--merchant <merchant_id>',
      'the id of a merchant that is missing after a restore, so that its rebuilt orders belong to it again',
    )
    .addOption(
      durationOption(
        '--session-lifetime <time>',
        'how long customers have to pay, such as 30m (the default)',
      ),
    )
    .action((options: CreateOptions) =>
      run(async ({ merchants }) => {
        const reply = await merchants.createMerchant({
          name: options.name,
          productionActivated: options.production === true,
          merchantId: options.merchant ?? '',
          ...(options.sessionLifetime === undefined ? {} : { sessionLifetime: options.sessionLifetime }),
        });
        const created = requireField(reply.merchant);
        const issueKey = (environment: string): string =>
          `gatehouse key issue ${created.merchantId} --environment ${environment}`;
        return describeMerchant(
          created,
          options.merchant === undefined
            ? `Create its first key: ${issueKey(created.productionActivated ? 'production' : 'sandbox')}`
            : `Its rebuilt orders belong to it again. Its keys, users, terms and wallet accounts are lost. Issue a key: ${issueKey('<environment>')}`,
        );
      }),
    );

  merchant
    .command('list')
    .description('list merchants, newest first')
    .option('--text <text>', 'only merchants whose name contains this text')
    .addOption(limitOption())
    .addOption(pageTokenOption())
    .action((options: ListOptions) => run(({ merchants }) => listMerchants(merchants, options)));

  addMerchantUpdateCommand(merchant, run, find, describeMerchant);
  addMerchantWalletCommands(merchant, run, find, readInput);

  for (const { name, description, reason, ask, note, certifications } of oneMerchant) {
    const command = merchant.command(name).description(description);
    if (reason !== undefined) command.option('--reason <text>', reason);
    onMerchant(command, find, (merchantId: string, options: { reason?: string }) =>
      run(async ({ merchants }) => {
        const reply = await ask(merchants, merchantId, options.reason ?? '');
        const answered = requireField(reply.merchant);
        return describeMerchant(answered, note, await certifications?.(merchants, merchantId));
      }),
    );
  }
}

interface CreateOptions {
  readonly name: string;
  readonly production?: true;
  readonly merchant?: string;
  readonly sessionLifetime?: Duration;
}

interface ListOptions extends PageOptions {
  readonly text?: string;
}

async function listMerchants(merchants: Merchants, options: ListOptions): Promise<Output> {
  const { text = '' } = options;
  const page = await collectPages(options, async (request) => {
    const reply = await merchants.listMerchants({ ...request, text });
    return { items: reply.merchants, nextPageToken: reply.nextPageToken };
  });
  const columns = [
    { head: 'MERCHANT' },
    { head: 'NAME', wraps: true },
    { head: 'STATUS' },
    { head: 'PRODUCTION' },
    { head: 'CREATED' },
  ];
  const rows = page.items.map((merchant) => [
    merchant.merchantId,
    merchant.name,
    showStatus(merchant),
    showActivation(merchant),
    showTime(merchant.createTime),
  ]);
  const noMerchants =
    text === ''
      ? `There are no merchants yet. Create one: gatehouse merchant create --name "Shop"`
      : 'No merchant has this text in its name.';
  return {
    json: {
      merchants: page.items.map((merchant) => plainJson(MerchantSchema, merchant)),
      next_page_token: page.nextPageToken,
    },
    text: (width) => (rows.length === 0 ? noMerchants : `${table(columns, rows, width)}${showMore(page)}`),
  };
}
