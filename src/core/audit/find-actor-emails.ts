import type { StoredId } from '../../contract/public-id.ts';
import type { EntityManager } from '@mikro-orm/postgresql';
import { isPublicId, publicId, storedId } from '../../contract/public-id.ts';
import { UserRow } from '../database/account-entities.ts';

/** Only the dashboard proves who its user is. Other programs choose the name that they send. */
const prefix = 'dashboard:';

/** The stored id of the user in an actor such as "dashboard:usr_…"; undefined when there is none. */
function userOf(actor: string): StoredId<'usr'> | undefined {
  const name = actor.startsWith(prefix) ? actor.slice(prefix.length) : '';
  return isPublicId('usr', name) ? storedId('usr', name) : undefined;
}

/** The e-mail addresses of the users among the actors, by actor. */
export async function findActorEmails(
  em: EntityManager,
  actors: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const ids = [...new Set(actors)].flatMap((actor) => userOf(actor) ?? []);
  if (ids.length === 0) return new Map();
  const users = await em.find(UserRow, { id: { $in: ids } });
  const emails = new Map(users.map(({ id, email }) => [`${prefix}${publicId('usr', id)}`, email]));
  return new Map(
    actors.flatMap((actor) => {
      const email = emails.get(actor);
      return email === undefined ? [] : [[actor, email] as const];
    }),
  );
}
