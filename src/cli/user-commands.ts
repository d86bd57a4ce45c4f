import type { Duration, Timestamp } from '@bufbuild/protobuf/wkt';
import type { Command } from 'commander';
import { InvalidArgumentError, Option } from 'commander';
import {
  AccountHelp,
  AccountHelpAskedSchema,
  AccountHelpSchema,
  InvitationSchema,
  MemberRole,
  MemberRoleSchema,
  UserSchema,
} from '../gen/gatehouse/v1/account_service_pb.js';
import type { ListUsersResponse, User } from '../gen/gatehouse/v1/account_service_pb.js';
import { CliError, exitCodes } from './cli-error.ts';
import { durationOption } from './options.ts';
import { onAnyMerchant } from './merchant-argument.ts';
import type { FindMerchant } from './merchant-argument.ts';
import { requireField } from './output.ts';
import type { Output, Runner } from './output.ts';
import { plainJson, valueOf, wordOf, wordsOf } from './plain-json.ts';
import { requireKnown } from './require-known.ts';
import { shellWord } from '../contract/shell-word.ts';
import { fields, table } from './table.ts';
import { showTime } from './time.ts';

/** The scheme and host of the dashboard. @throws CliError when they are unknown */
type FindDashboard = () => Promise<string>;

interface PlaceOptions {
  readonly merchant?: string;
  readonly operator?: true;
}

const merchantOption = (description = 'mer_…; default: the only merchant'): Option =>
  new Option('--merchant <merchant_id>', description);
const operatorOption = (description = 'an operator, who sees every merchant'): Option =>
  new Option('--operator', description).conflicts('merchant');
const validityOption = (standard: string): Option =>
  durationOption('--valid-for <time>', `how long the link works; default: ${standard}`);

const roleOption = (): Option =>
  new Option(
    '--role <role>',
    `required without --operator: the role at the merchant, one of ${wordsOf(MemberRoleSchema).join(', ')}`,
  ).argParser((word): MemberRole => {
    const role = valueOf(MemberRoleSchema, word);
    if (role === undefined)
      throw new InvalidArgumentError(`Use one of: ${wordsOf(MemberRoleSchema).join(', ')}.`);
    return role;
  });

/** The id of the user's merchant: the named one, otherwise the only one. Empty for an operator. */
async function merchantIdOf(
  { merchant, operator }: PlaceOptions,
  find: FindMerchant,
  howToName: string,
): Promise<string> {
  return operator === true ? '' : find(merchant, howToName);
}

/** `user …` */
export function addUserCommands(
  program: Command,
  run: Runner,
  find: FindMerchant,
  findDashboard: FindDashboard,
): void {
  const user = program.command('user').description('invite, list, disable and remove users of the dashboard');

  user
    .command('invite')
    .description('create an invitation link and show it once')
    .argument('<email>', 'the e-mail address of the user')
    .addOption(merchantOption())
    .addOption(roleOption())
    .addOption(operatorOption())
    .addOption(validityOption('72h'))
    .action(async (email: string, options: PlaceOptions & { role?: MemberRole; validFor?: Duration }) => {
      if (options.role === undefined && options.operator === undefined) throw missingRole();
      const dashboard = await findDashboard();
      const howToName = `gatehouse user invite ${shellWord(email)} --merchant <merchant_id> --role <role>`;
      const merchantId = await merchantIdOf(options, find, howToName);
      return run(async ({ accounts }) => {
        const { token, expireTime } = await accounts.inviteUser({
          email,
          merchantId,
          role: options.role ?? MemberRole.UNSPECIFIED,
          asOperator: merchantId === '',
          ...(options.validFor === undefined ? {} : { validFor: options.validFor }),
        });
        return showLink({ email, path: `/invitation/${token}`, expireTime }, dashboard);
      });
    });

  addHelp(user, run, findDashboard);

  onAnyMerchant(
    user
      .command('list')
      .description("list a merchant's users and open invitations, or the operators")
      .option('--text <text>', 'only those whose address or name contains this text'),
    'mer_…; default: the operators',
    ({ merchant = '', text = '' }: PlaceOptions & { readonly text?: string }) =>
      run(async (clients) => {
        const listed = await clients.accounts.listUsers({ merchantId: merchant, text });
        if (listed.users.length + listed.invitations.length === 0)
          await requireKnown(clients, { merchantId: merchant });
        return listUsers(listed, { merchant, text });
      }),
  );

  user
    .command('remove')
    .description('remove a user or an invitation from a merchant, or withdraw the invitation of an operator')
    .argument('<email>', 'the e-mail address of the user')
    .addOption(merchantOption())
    .addOption(operatorOption('the invitation of an operator, instead of a user of a merchant'))
    .action(async (email: string, options: PlaceOptions) => {
      const howToName = `gatehouse user remove ${shellWord(email)} --merchant <merchant_id>`;
      const merchantId = await merchantIdOf(options, find, howToName);
      return run(async ({ accounts }) => {
        const { wasAbsent } = await accounts.removeMembership({ email, merchantId });
        return {
          json: { email, merchant_id: merchantId, was_absent: wasAbsent },
          text: wasAbsent ? absentText(email, merchantId) : removedText(email, merchantId),
        };
      });
    });

  addSwitch(user, run, {
    name: 'disable',
    description: 'disable an account and end its sessions at once',
    isDisabled: true,
  });
  addSwitch(user, run, { name: 'enable', description: 'enable a disabled account', isDisabled: false });
}

const removedText = (email: string, merchantId: string): string =>
  `${email} is removed from ${merchantId === '' ? 'the invited operators' : merchantId}.`;

/** A typing mistake must not look like a removal: the person would keep access. */
const absentText = (email: string, merchantId: string): string =>
  merchantId === ''
    ? `Nothing changed: ${email} is not invited as an operator. To see who is: gatehouse user list\n` +
      `To end the access of an operator: gatehouse user disable ${shellWord(email)}`
    : `Nothing changed: ${email} is not a user of ${merchantId}, and not invited. To see who is: gatehouse user list --merchant ${merchantId}`;

const codesOption = (): Option =>
  new Option(
    '--remove-totp',
    'the request for the removal of one-time codes, instead of the one for a new password',
  );
const helpOf = ({ removeTotp }: { readonly removeTotp?: true }): AccountHelp =>
  removeTotp === true ? AccountHelp.REMOVE_SECOND_FACTOR : AccountHelp.NEW_PASSWORD;

/** Help for users who cannot sign in: one operator requests it, and another approves. */
function addHelp(user: Command, run: Runner, findDashboard: FindDashboard): void {
  const ask = (name: string, help: AccountHelp, description: string): void => {
    user
      .command(name)
      .description(description)
      .argument('<email>', 'the e-mail address of the user')
      .action((email: string) =>
        run(async ({ accounts }) => {
          const { expireTime, isMailed } = await accounts.requestAccountHelp({ email, help });
          const until = showTime(expireTime);
          const text = isMailed
            ? `A dashboard mails the link to ${email}. No other person sees it.`
            : `Another operator must approve this by ${until} on the page Users of the dashboard.\nTo list open requests: gatehouse user requests`;
          return { json: { email, is_mailed: isMailed, expire_time: until }, text };
        }),
      );
  };
  ask(
    'reset',
    AccountHelp.NEW_PASSWORD,
    'request a password reset link; the dashboard mails it, or without a mail server, a second operator must approve it; one-time codes stay on',
  );
  ask(
    'remove-totp',
    AccountHelp.REMOVE_SECOND_FACTOR,
    'request the removal of the one-time codes, which a second operator must approve',
  );

  user
    .command('approve')
    .description(
      'approve, as the second operator, a request that was made in the dashboard: for a new password, or for the removal of one-time codes',
    )
    .argument('<email>', 'the e-mail address of the user')
    .addOption(codesOption())
    .action(async (email: string, options: { removeTotp?: true }) => {
      // Only a new password has a link.
      const dashboard = options.removeTotp === true ? '' : await findDashboard();
      return run(async ({ accounts }) => {
        const { token, expireTime } = await accounts.approveAccountHelp({ email, help: helpOf(options) });
        if (token === '') return { json: { email }, text: `The one-time codes of ${email} are removed.` };
        return showLink({ email, path: `/reset/${token}`, expireTime }, dashboard);
      });
    });

  user
    .command('reject')
    .description(
      'withdraw a request for a new password or for the removal of one-time codes, before it is approved',
    )
    .argument('<email>', 'the e-mail address of the user')
    .addOption(codesOption())
    .action((email: string, options: { removeTotp?: true }) =>
      run(async ({ accounts }) => {
        const { wasAbsent } = await accounts.rejectAccountHelp({ email, help: helpOf(options) });
        const text = wasAbsent
          ? `Nothing changed: there is no such request for ${email}. To list open requests: gatehouse user requests`
          : `The request for ${email} is withdrawn.`;
        return { json: { email, was_absent: wasAbsent }, text };
      }),
    );

  user
    .command('requests')
    // Its name in 0.1.0.
    .alias('help-list')
    .description(
      'list requests for new passwords and for the removal of one-time codes that a second operator must approve',
    )
    .action(() =>
      run(async ({ accounts }) => {
        const { requests } = await accounts.listAccountHelp({});
        const columns = [
          { head: 'USER', wraps: true },
          { head: 'REQUEST' },
          { head: 'REQUESTED BY' },
          { head: 'EXPIRES' },
        ];
        const rows = requests.map(({ email, help, askedBy, askedByEmail, expireTime }) => [
          email,
          wordOf(AccountHelpSchema, help) ?? '',
          askedByEmail === '' ? askedBy : askedByEmail,
          showTime(expireTime),
        ]);
        return {
          json: { requests: requests.map((asked) => plainJson(AccountHelpAskedSchema, asked)) },
          text: (width) =>
            rows.length === 0 ? 'No requests wait for a second operator.' : table(columns, rows, width),
        };
      }),
    );
}

function addSwitch(
  user: Command,
  run: Runner,
  { name, description, isDisabled }: { name: string; description: string; isDisabled: boolean },
): void {
  user
    .command(name)
    .description(description)
    .argument('<email>', 'the e-mail address of the user')
    .action((email: string) =>
      run(async ({ accounts }) =>
        describeUser(requireField((await accounts.setUserDisabled({ email, isDisabled })).user)),
      ),
    );
}

const missingRole = (): CliError =>
  new CliError(
    exitCodes.invalidInput,
    'the role is missing: neither --role nor --operator is given',
    `Add --role <role> (${wordsOf(MemberRoleSchema).join(', ')}), or --operator for an operator of the gateway.`,
  );

interface Link {
  readonly email: string;
  readonly path: string;
  readonly expireTime: Timestamp | undefined;
}

function showLink({ email, path, expireTime }: Link, dashboard: string): Output {
  const link = `${dashboard.replace(/\/+$/, '')}${path}`;
  const text = (width: number): readonly string[] => [
    fields(
      [
        ['For', email],
        ['Works until', showTime(expireTime)],
      ],
      width,
    ),
    link,
    'Give this link to the user only. It works once.\nGatehouse does not store it and cannot show it again.',
  ];
  return {
    json: { email, link, expire_time: showTime(expireTime) },
    text: (width) => text(width).join('\n\n'),
  };
}

const roleOf = ({ isOperator, memberships }: User): string =>
  isOperator ? 'operator' : memberships.map(({ role }) => wordOf(MemberRoleSchema, role) ?? '').join(', ');

const stateOf = ({ isDisabled }: User): string => (isDisabled ? 'disabled' : 'enabled');

const describeUser = (user: User): Output => ({
  json: plainJson(UserSchema, user),
  text: (width) =>
    fields(
      [
        ['User', user.userId],
        ['Address', user.email],
        ['Name', user.name],
        ['Role', roleOf(user)],
        ['State', stateOf(user)],
        ['One-time codes', user.isTotpEnabled ? 'on' : 'off'],
        ['Last signed in', showTime(user.lastSignInTime, 'never')],
      ],
      width,
    ),
});

function listUsers(
  { users, invitations, hasMore }: ListUsersResponse,
  { merchant: merchantId, text }: { readonly merchant: string; readonly text: string },
): Output {
  const columns = [
    { head: 'EMAIL, NAME', wraps: true },
    { head: 'ROLE' },
    { head: 'STATE', atMost: 26 },
    { head: 'CODES' },
    { head: 'LAST SIGNED IN' },
  ];
  const rows = [
    ...users.map((user) => [
      `${user.email}\n${user.name}`,
      roleOf(user),
      stateOf(user),
      user.isTotpEnabled ? 'on' : 'off',
      showTime(user.lastSignInTime, 'never'),
    ]),
    ...invitations.map(({ email, role, expireTime }) => [
      email,
      wordOf(MemberRoleSchema, role) ?? 'operator',
      `invited until ${showTime(expireTime)}`,
      '',
      '',
    ]),
  ];
  const title =
    merchantId === ''
      ? "Operators. For a merchant's users: gatehouse user list --merchant <merchant_id>"
      : `Users of merchant ${merchantId}`;
  const more = hasMore
    ? '\n\nThere are more, which --text finds. The first 500 of each are listed, by address.'
    : '';
  const invite =
    merchantId === ''
      ? 'gatehouse user invite <email> --operator'
      : `gatehouse user invite <email> --merchant ${merchantId} --role owner`;
  return {
    json: {
      users: users.map((user) => plainJson(UserSchema, user)),
      invitations: invitations.map((invitation) => plainJson(InvitationSchema, invitation)),
      has_more: hasMore,
    },
    text: (width) =>
      rows.length > 0
        ? `${title}\n\n${table(columns, rows, width)}${more}`
        : text === ''
          ? `No users yet. Invite one: ${invite}`
          : 'No address and no name contains this text.',
  };
}
