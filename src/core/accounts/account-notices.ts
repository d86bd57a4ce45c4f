import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { storedId } from '../../contract/public-id.ts';
import type { NewId, PublicId, StoredId } from '../../contract/public-id.ts';
import { AccountNoticeRow } from '../database/account-entities.ts';
import type { NoticeEvent } from '../database/account-entities.ts';

const day = 86_400_000;
/** A notice is mailed only while it is recent. So a mail server that is set up later sends no old notices. */
const mailedWithinMs = day;
const shownForMs = 7 * day;
const keptForMs = 30 * day;
const maxShown = 5;

/** A change of an account that its user did not make. */
export interface AccountNotice {
  readonly event: NoticeEvent;
  readonly createdAt: Date;
  readonly subject: string;
}

/** Adds a notice to the unit of work of the change, so that the user is notified of every committed change. */
export function addNotice(
  em: EntityManager,
  newId: NewId,
  at: Date,
  userId: StoredId<'usr'>,
  event: NoticeEvent,
  subject = '',
): void {
  em.create(AccountNoticeRow, {
    id: storedId('aud', newId('aud', at)),
    userId,
    event,
    subject,
    createdAt: at,
    expiresAt: new Date(at.getTime() + keptForMs),
  });
}

/** The newest notices of the last 7 days. They are shown after each sign-in, so that an intruder cannot hide them. */
export async function listNotices(
  em: EntityManager,
  userId: PublicId<'usr'>,
  now: Date,
): Promise<readonly AccountNotice[]> {
  const since = new Date(now.getTime() - shownForMs);
  return em.find(
    AccountNoticeRow,
    { userId: storedId('usr', userId), createdAt: { $gt: since } },
    { orderBy: { createdAt: 'desc', id: 'desc' }, limit: maxShown },
  );
}

/** Takes notices to be mailed. Each is returned once, however many dashboards call. */
export async function takeDueNotices(
  em: EntityManager,
  now: Date,
  limit: number,
): Promise<readonly (AccountNotice & { readonly userId: StoredId<'usr'> })[]> {
  const rows = await em.find(
    AccountNoticeRow,
    { mailedAt: null, createdAt: { $gt: new Date(now.getTime() - mailedWithinMs) } },
    { orderBy: { createdAt: 'asc' }, limit, lockMode: LockMode.PESSIMISTIC_PARTIAL_WRITE },
  );
  for (const row of rows) row.mailedAt = now;
  return rows;
}
