/** One page of a list, as all list methods of core return it. */
interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextPageToken: string;
}

export interface PageRequest {
  readonly pageSize: number;
  readonly pageToken: string;
}

/** The values of `--limit` and `--page-token`. */
export interface PageOptions {
  readonly limit: number;
  readonly pageToken?: string;
}

/** The largest page of core. */
const largestPage = 500;

/** Reads pages up to `limit` items or the end of the list. nextPageToken is empty at the end. */
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

/** Whether the whole list has no items. An empty page at a page token says nothing about the list. */
export const isEmptyList = ({ items }: Page<unknown>, { pageToken }: PageOptions): boolean =>
  items.length === 0 && pageToken === undefined;

/** The note under a list that has more items, with the way to read them. `options`: further options that the next page needs. */
export const showMore = ({ nextPageToken }: Page<unknown>, options = ''): string =>
  nextPageToken === ''
    ? ''
    : `\n\nThere are more entries. Raise --limit, or list the next page with the same filters and\n--page-token ${nextPageToken}${options}`;
