/** One page of a list, as any of the core's list methods gives it. */
interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextPageToken: string;
}

export interface PageRequest {
  readonly pageSize: number;
  readonly pageToken: string;
}

/** What `--limit` and `--page-token` say. */
export interface PageOptions {
  readonly limit: number;
  readonly pageToken?: string;
}

/** The most that the core gives at once. */
const largestPage = 500;

/** Reads pages until there are `limit` items, or no more. nextPageToken is empty in the second case. */
export async function collectPages<Item>(
  { limit, pageToken = '' }: PageOptions,
  readPage: (request: PageRequest) => Promise<Page<Item>>,
): Promise<Page<Item>> {
  const items: Item[] = [];
  let nextPageToken = pageToken;
  do {
    const page = await readPage({
      pageSize: Math.min(limit - items.length, largestPage),
      pageToken: nextPageToken,
    });
    items.push(...page.items);
    nextPageToken = page.nextPageToken;
  } while (nextPageToken !== '' && items.length < limit);
  return { items, nextPageToken };
}

/** Says under a list that it goes on, and how to read on. */
export const showMore = ({ nextPageToken, items }: Page<unknown>): string =>
  nextPageToken === ''
    ? ''
    : `\n\nThere are more than these ${items.length}. Raise --limit, or go on behind them with the same filters and\n--page-token ${nextPageToken}`;
