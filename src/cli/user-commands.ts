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
import type { FindMerchant } from './merchant-argument.ts';
import { answered } from './output.ts';
import type { Output, Runner } from './output.ts';
import { plainJson, valueOf, wordOf, wordsOf } from './plain-json.ts';
import { fields, table } from './table.ts';
import { showTime } from './time.ts';

/** Where people reach the dashboard: scheme and host. @throws CliError when that is not known */
type FindDashboard = () => Promise<string>;

interface PlaceOptions {
  readonly merchant?: string;
  readonly operator?: true;
}

const merchantOption = (description = 'mer_…; the only merchant when left out'): Option =>
  new Option('--merchant <merchant_id>', description);
const operatorOption = (): Option =>
  new Option('--operator', 'somebody who runs the gateway').conflicts('merchant');
const validityOption = (standard: string): Option =>
  durationOption('--valid-for <time>', `how long the link works; ${standard} when left out`);

const roleOption = (): Option =>
  new Option('--role <role>', `what they may do there: ${wordsOf(MemberRoleSchema).join(', ')}`).argParser(
    (word): MemberRole => {
      const role = valueOf(MemberRoleSchema, word);
      if (role === undefined)
        throw new InvalidArgumentError(`Use one of: ${wordsOf(MemberRoleSchema).join(', ')}.`);
      return role;
    },
  );

/** The id of the merchant whose user it is: the one named, else the only one there is. Empty for an operator. */
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
  const user = program.command('user').description('let people into the dashboard, or not');

  user
    .command('invite')
    .description('make a link with which somebody gets an account and a role, and show it, once')
    .argument('<email>', 'whom to give it to')
    .addOption(merchantOption())
    .addOption(roleOption())
    .addOption(operatorOption())
    .addOption(validityOption('72h'))
    .action(async (email: string, options: PlaceOptions & { role?: MemberRole; validFor?: Duration }) => {
      if (options.role === undefined && options.operator === undefined) throw whatMayTheyDo();
      const dashboard = await findDashboard();
      const howToName = `gatehouse user invite ${email} --merchant <merchant_id> --role <role>`;
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

  user
    .command('list')
    .description("list a merchant's users and open invitations, or the operators")
    .addOption(merchantOption('mer_…; the operators when left out'))
    .action(({ merchant = '' }: PlaceOptions) =>
      run(async ({ accounts }) => list(await accounts.listUsers({ merchantId: merchant }), merchant)),
    );

  user
    .command('remove')
    .description(
      'take somebody, or their open invitation, off a merchant; or take back the invitation of an operator',
    )
    .argument('<email>')
    .addOption(merchantOption())
    .addOption(operatorOption())
    .action(async (email: string, options: PlaceOptions) => {
      const howToName = `gatehouse user remove ${email} --merchant <merchant_id>`;
      const merchantId = await merchantIdOf(options, find, howToName);
      return run(async ({ accounts }) => {
        await accounts.removeMembership({ email, merchantId });
        const from = merchantId === '' ? 'the operators who are invited' : merchantId;
        return { json: { email, merchant_id: merchantId }, text: `${email} is not among ${from} any more.` };
      });
    });

  addSwitch(user, run, {
    name: 'disable',
    description: 'keep somebody out; their sessions end at once',
    isDisabled: true,
  });
  addSwitch(user, run, { name: 'enable', description: 'let somebody in again', isDisabled: false });
}

const codesOption = (): Option =>
  new Option('--remove-totp', 'the removal of the one-time codes, not a new password').default(false);
const helpOf = ({ removeTotp }: { readonly removeTotp: boolean }): AccountHelp =>
  removeTotp ? AccountHelp.REMOVE_SECOND_FACTOR : AccountHelp.NEW_PASSWORD;

/** Help for users who cannot sign in: one operator asks, and another one approves. */
function addHelp(user: Command, run: Runner, findDashboard: FindDashboard): void {
  const ask = (name: string, help: AccountHelp, description: string): void => {
    user
      .command(name)
      .description(description)
      .argument('<email>', 'who cannot sign in')
      .action((email: string) =>
        run(async ({ accounts }) => {
          const { expireTime, isMailed } = await accounts.requestAccountHelp({ email, help });
          const until = showTime(expireTime);
          const text = isMailed
            ? `A dashboard mails the link to ${email}. It is shown to nobody else.`
            : `Another operator has to approve this by ${until}: in the dashboard, on the page Users.\nWhat waits is listed by: gatehouse user help-list`;
          return { json: { email, is_mailed: isMailed, expire_time: until }, text };
        }),
      );
  };
  ask('reset', AccountHelp.NEW_PASSWORD, 'ask for a link to a new password; the second factor stays');
  ask('remove-totp', AccountHelp.REMOVE_SECOND_FACTOR, 'ask for the removal of the one-time codes');

  user
    .command('approve')
    .description('approve, as a second operator, what an operator asked for in the dashboard')
    .argument('<email>', 'who cannot sign in')
    .addOption(codesOption())
    .action(async (email: string, options: { removeTotp: boolean }) => {
      const dashboard = await findDashboard();
      return run(async ({ accounts }) => {
        const { token, expireTime } = await accounts.approveAccountHelp({ email, help: helpOf(options) });
        if (token === '') return { json: { email }, text: `The one-time codes of ${email} are removed.` };
        return showLink({ email, path: `/reset/${token}`, expireTime }, dashboard);
      });
    });

  user
    .command('reject')
    .description('withdraw what an operator asked for')
    .argument('<email>', 'who cannot sign in')
    .addOption(codesOption())
    .action((email: string, options: { removeTotp: boolean }) =>
      run(async ({ accounts }) => {
        await accounts.rejectAccountHelp({ email, help: helpOf(options) });
        return { json: { email }, text: `Nothing is asked for any more for ${email}.` };
      }),
    );

  user
    .command('help-list')
    .description('list what waits for a second operator')
    .action(() =>
      run(async ({ accounts }) => {
        const { requests } = await accounts.listAccountHelp({});
        const columns = [
          { head: 'USER', gives: true },
          { head: 'WHAT' },
          { head: 'ASKED BY' },
          { head: 'ENDS' },
        ];
        const rows = requests.map(({ email, help, askedBy, askedByEmail, expireTime }) => [
          email,
          wordOf(AccountHelpSchema, help) ?? '',
          askedByEmail === '' ? askedBy : askedByEmail,
          showTime(expireTime),
        ]);
        return {
          json: { requests: requests.map((asked) => plainJson(AccountHelpAskedSchema, asked)) },
          text: rows.length === 0 ? 'Nothing waits for a second operator.' : table(columns, rows),
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
    .argument('<email>')
    .action((email: string) =>
      run(async ({ accounts }) =>
        describe(answered((await accounts.setUserDisabled({ email, isDisabled })).user)),
      ),
    );
}

const whatMayTheyDo = (): CliError =>
  new CliError(
    exitCodes.invalidInput,
    'what may they do? neither --role nor --operator is given',
    `Add --role <role> (${wordsOf(MemberRoleSchema).join(', ')}), or --operator for somebody who runs the gateway.`,
  );

interface Link {
  readonly email: string;
  readonly path: string;
  readonly expireTime: Timestamp | undefined;
}

function showLink({ email, path, expireTime }: Link, dashboard: string): Output {
  const link = `${dashboard.replace(/\/+$/, '')}${path}`;
  const text = [
    fields([
      ['For', email],
      ['Works until', showTime(expireTime)],
    ]),
    link,
    'This is the link, for them alone. It works once.\nGatehouse does not store it and cannot show it again.',
  ];
  return { json: { email, link, expire_time: showTime(expireTime) }, text: text.join('\n\n') };
}

const roleOf = ({ isOperator, memberships }: User): string =>
  isOperator ? 'operator' : memberships.map(({ role }) => wordOf(MemberRoleSchema, role) ?? '').join(', ');

const stateOf = ({ isDisabled }: User): string => (isDisabled ? 'kept out' : 'may sign in');

const describe = (user: User): Output => ({
  json: plainJson(UserSchema, user),
  text: fields([
    ['User', user.userId],
    ['Address', user.email],
    ['Name', user.name],
    ['Role', roleOf(user)],
    ['State', stateOf(user)],
    ['One-time codes', user.isTotpEnabled ? 'on' : 'off'],
    ['Last signed in', showTime(user.lastSignInTime, 'never')],
  ]),
});

function list({ users, invitations }: ListUsersResponse, merchantId: string): Output {
  const columns = [
    { head: 'ADDRESS, NAME', gives: true },
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
  const invite =
    merchantId === ''
      ? 'gatehouse user invite <email> --operator'
      : `gatehouse user invite <email> --merchant ${merchantId} --role owner`;
  return {
    json: {
      users: users.map((user) => plainJson(UserSchema, user)),
      invitations: invitations.map((invitation) => plainJson(InvitationSchema, invitation)),
    },
    text: (width) =>
      rows.length === 0 ? `Nobody yet. Invite somebody: ${invite}` : table(columns, rows, width),
  };
}
