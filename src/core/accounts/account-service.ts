import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { HandlerContext } from '@connectrpc/connect';
import { AccountService, MemberRole as RoleMessage } from '../../gen/gatehouse/v1/account_service_pb.js';
import type { AccountHelp as HelpMessage } from '../../gen/gatehouse/v1/account_service_pb.js';
import { actorOf } from '../../platform/rpc/actor.ts';
import { annotate, callerOf, markUneventful } from '../../platform/rpc/call-context.ts';
import { rpcService } from '../../contract/rpc-service.ts';
import type { RpcService } from '../../platform/rpc/rpc-service.ts';
import { combine } from '../domain/combine.ts';
import { parseText } from '../domain/text.ts';
import { parseId, parseOptionalId, valuesOrThrow } from '../rpc/request-fields.ts';
import { acceptInvitation, nameLength } from './accept-invitation.ts';
import {
  parseHelpKind,
  parseKeptSessionHash,
  parseLanguage,
  parseMembership,
  parseRole,
  parseUserFilter,
  parseValidity,
} from './account-fields.ts';
import { approveHelp, listHelp, rejectHelp, requestHelp, takeMails } from './account-help.ts';
import { actingOperatorOf } from './acting-operator.ts';
import { listNotices } from './account-notices.ts';
import type { AccountParts } from './account-parts.ts';
import { changeMembership, removeMembership } from './change-membership.ts';
import { setUserDisabled, updateProfile } from './change-user.ts';
import { changePassword, checkPassword } from './check-password.ts';
import { parseEmail } from './email-address.ts';
import { inviteUser, readInvitation } from './invite-user.ts';
import { listUsers } from './list-users.ts';
import { readPasswordReset, resetPassword, startPasswordReset } from './reset-password.ts';
import { beginTotp, confirmTotp, disableTotp, verifyTotp } from './second-factor.ts';
import { helpNumbers, noticeMessage, roleNumbers, userMessage } from './user-message.ts';
import { isPublicId } from '../../contract/public-id.ts';
import type { PublicId } from '../../contract/public-id.ts';

const hour = 3_600;
const invitationLife = { standardSeconds: 72 * hour, maxSeconds: 14 * 24 * hour };
const resetLife = { standardSeconds: hour, maxSeconds: 72 * hour };

const parseHelp = (request: { readonly email: string; readonly help: HelpMessage }) =>
  valuesOrThrow(combine({ email: parseEmail(request.email), kind: parseHelpKind(request.help) }));

const requireUserId = (userId: string): PublicId<'usr'> => valuesOrThrow(parseId('usr', userId, 'user_id'));
const noteUser = (context: HandlerContext, userId: string): void => annotate(context, { user_id: userId });

/** gatehouse.v1.AccountService. E-mail addresses are personal data that log readers do not need, so the log omits them. */
export function accountService(parts: AccountParts): RpcService {
  return rpcService(
    AccountService,
    {
      async inviteUser(request, context) {
        const { email, membership, validForMs } = valuesOrThrow(
          combine({
            email: parseEmail(request.email),
            membership: parseMembership(request),
            validForMs: parseValidity(request.validFor, invitationLife),
          }),
        );
        annotate(context, { merchant_id: request.merchantId });
        const caller = callerOf(context);
        const actor = caller.role === 'dashboard' ? caller.actor : '';
        const merchantId = membership?.merchantId ?? '';
        await parts.tries.countInvitation({ inviter: actor, emailKey: email.key, merchantId });
        const inviter = isPublicId('usr', actor) ? actor : undefined;
        const isByOperator = caller.role === 'operator';
        const terms = { email, membership, validForMs, inviter, isByOperator };
        const made = await inviteUser(parts, terms, actorOf(context));
        return { token: made.token, expireTime: timestampFromDate(made.expiresAt) };
      },
      async getInvitation({ token }) {
        const { role, expiresAt, ...seen } = await readInvitation(parts, token);
        return {
          ...seen,
          role: role === undefined ? RoleMessage.UNSPECIFIED : roleNumbers[role],
          asOperator: role === undefined,
          expireTime: timestampFromDate(expiresAt),
        };
      },
      async acceptInvitation({ token, name, password, remoteAddress, browserSecret, ...request }, context) {
        const language = valuesOrThrow(parseLanguage(request.language, { required: false }));
        const acceptance = { token, name, password, language, remoteAddress, browserSecret };
        const user = await acceptInvitation(parts, acceptance, actorOf(context), context.signal);
        noteUser(context, user.id);
        return { user: userMessage(user), passwordVersion: user.passwordVersion };
      },
      async startPasswordReset({ email: text, validFor, remoteAddress, browserSecret }, context) {
        const { email, validForMs } = valuesOrThrow(
          combine({ email: parseEmail(text), validForMs: parseValidity(validFor, resetLife) }),
        );
        const request = { email, validForMs, remoteAddress, browserSecret };
        const made = await startPasswordReset(parts, request, actorOf(context), context.signal);
        return { token: made.token, expireTime: timestampFromDate(made.expiresAt), email: made.email };
      },
      async getPasswordReset({ token }) {
        return { expireTime: timestampFromDate(await readPasswordReset(parts, token)) };
      },
      async requestAccountHelp(request, context) {
        const { email, kind } = parseHelp(request);
        const { expiresAt, isMailed } = await requestHelp(parts, email, kind, actingOperatorOf(context));
        return { expireTime: timestampFromDate(expiresAt), isMailed };
      },
      async approveAccountHelp(request, context) {
        const { email, kind } = parseHelp(request);
        const link = await approveHelp(parts, email, kind, actingOperatorOf(context));
        return link === undefined ? {} : { token: link.token, expireTime: timestampFromDate(link.expiresAt) };
      },
      async rejectAccountHelp(request, context) {
        const { email, kind } = parseHelp(request);
        return { wasAbsent: !(await rejectHelp(parts, email, kind, actingOperatorOf(context))) };
      },
      async listAccountHelp() {
        const requests = await listHelp(parts);
        return {
          requests: requests.map(({ kind, createdAt, expiresAt, ...asked }) => ({
            ...asked,
            help: helpNumbers[kind],
            createTime: timestampFromDate(createdAt),
            expireTime: timestampFromDate(expiresAt),
          })),
        };
      },
      async takeAccountMails(_request, context) {
        const mails = await takeMails(parts);
        if (mails.length === 0) markUneventful(context);
        annotate(context, { mails: mails.length });
        return {
          mails: mails.map(({ email, language, content }) =>
            'link' in content
              ? {
                  email,
                  language,
                  resetToken: content.link.token,
                  expireTime: timestampFromDate(content.link.expiresAt),
                }
              : { email, language, notice: noticeMessage(content.notice) },
          ),
        };
      },
      async listAccountNotices({ userId }) {
        const notices = await listNotices(parts.database.fork(), requireUserId(userId), parts.now());
        return { notices: notices.map(noticeMessage) };
      },
      async resetPassword({ token, password }, context) {
        const user = await resetPassword(parts, token, password, actorOf(context), context.signal);
        noteUser(context, user.id);
        return { user: userMessage(user) };
      },
      async verifyPassword(request, context) {
        const user = await checkPassword(parts, request, actorOf(context), context.signal);
        noteUser(context, user.id);
        return { user: userMessage(user), passwordVersion: user.passwordVersion };
      },
      async verifyTotp(request, context) {
        noteUser(context, request.userId);
        const submitted = { ...request, userId: requireUserId(request.userId) };
        return verifyTotp(parts, submitted, actorOf(context), context.signal);
      },
      async beginTotp({ userId }, context) {
        noteUser(context, userId);
        return beginTotp(parts, requireUserId(userId));
      },
      async confirmTotp(request, context) {
        const { userId, keepHash } = valuesOrThrow(
          combine({
            userId: parseId('usr', request.userId, 'user_id'),
            keepHash: parseKeptSessionHash(request.keepSessionHash),
          }),
        );
        noteUser(context, userId);
        const shown = { ...request, userId, keepHash };
        const codes = await confirmTotp(parts, shown, actorOf(context));
        return { recoveryCodes: [...codes] };
      },
      async disableTotp({ userId }, context) {
        noteUser(context, userId);
        await disableTotp(parts, requireUserId(userId), actorOf(context));
        return {};
      },
      async changePassword(request, context) {
        const { userId, keepHash } = valuesOrThrow(
          combine({
            userId: parseId('usr', request.userId, 'user_id'),
            keepHash: parseKeptSessionHash(request.keepSessionHash),
          }),
        );
        noteUser(context, userId);
        const change = { ...request, userId, keepHash };
        await changePassword(parts, change, actorOf(context), context.signal);
        return {};
      },
      async updateProfile(request, context) {
        const { userId, ...profile } = valuesOrThrow(
          combine({
            userId: parseId('usr', request.userId, 'user_id'),
            name: parseText(request.name, 'name', { max: nameLength, required: true }),
            language: parseLanguage(request.language, { required: true }),
          }),
        );
        noteUser(context, userId);
        await parts.tries.countProfile(userId);
        return { user: userMessage(await updateProfile(parts, userId, profile, actorOf(context))) };
      },
      async listUsers(request) {
        const filter = valuesOrThrow(parseUserFilter(request));
        const { users, invitations, hasMore } = await listUsers(parts.database, filter, parts.now());
        return {
          hasMore,
          users: users.map(userMessage),
          invitations: invitations.map(({ email, role, createdAt, expiresAt }) => ({
            email,
            role: role == null ? RoleMessage.UNSPECIFIED : roleNumbers[role],
            createTime: timestampFromDate(createdAt),
            expireTime: timestampFromDate(expiresAt),
          })),
        };
      },
      async changeMembership(request, context) {
        const change = valuesOrThrow(
          combine({
            merchantId: parseId('mer', request.merchantId, 'merchant_id'),
            userId: parseId('usr', request.userId, 'user_id'),
            role: parseRole(request.role, 'role'),
            expectedRole: parseRole(request.expectedRole, 'expected_role'),
          }),
        );
        annotate(context, { merchant_id: change.merchantId, user_id: change.userId });
        const isByOperator = callerOf(context).role === 'operator';
        const user = await changeMembership(parts, { ...change, isByOperator }, actorOf(context));
        return { user: userMessage(user) };
      },
      async removeMembership(request, context) {
        const { merchantId, email } = valuesOrThrow(
          combine({
            merchantId: parseOptionalId('mer', request.merchantId, 'merchant_id'),
            email: parseEmail(request.email),
          }),
        );
        annotate(context, { merchant_id: request.merchantId });
        const removal = { merchantId, emailKey: email.key, isInvitationOnly: request.invitationOnly };
        return { wasAbsent: !(await removeMembership(parts, removal, actorOf(context))) };
      },
      async setUserDisabled({ email: text, isDisabled }, context) {
        const email = valuesOrThrow(parseEmail(text));
        const user = await setUserDisabled(parts, email.key, isDisabled, actorOf(context));
        noteUser(context, user.id);
        return { user: userMessage(user) };
      },
    },
    {
      inviteUser: ['dashboard', 'operator'],
      getInvitation: ['dashboard'],
      acceptInvitation: ['dashboard'],
      startPasswordReset: ['dashboard'],
      getPasswordReset: ['dashboard'],
      requestAccountHelp: ['dashboard', 'operator'],
      approveAccountHelp: ['dashboard', 'operator'],
      rejectAccountHelp: ['dashboard', 'operator'],
      listAccountHelp: ['dashboard', 'operator'],
      takeAccountMails: ['dashboard'],
      listAccountNotices: ['dashboard'],
      resetPassword: ['dashboard'],
      verifyPassword: ['dashboard'],
      verifyTotp: ['dashboard'],
      beginTotp: ['dashboard'],
      confirmTotp: ['dashboard'],
      disableTotp: ['dashboard'],
      changePassword: ['dashboard'],
      updateProfile: ['dashboard'],
      listUsers: ['dashboard', 'operator', 'reader'],
      changeMembership: ['dashboard', 'operator'],
      removeMembership: ['dashboard', 'operator'],
      setUserDisabled: ['dashboard', 'operator'],
    },
  );
}
