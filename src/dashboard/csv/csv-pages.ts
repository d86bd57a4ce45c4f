/** A page of a list of core. */
interface ListPage {
  readonly nextPageToken: string;
}

/**
 * The lines of all pages after `start`. Each page is read after the browser has received the one before. A failure aborts the
 * download.
 */
export async function* csvPages<Page extends ListPage>(
  start: string,
  first: Page,
  linesOf: (page: Page) => string,
  read: (pageToken: string) => Promise<Page>,
): AsyncGenerator<string> {
  yield start;
  let page = first;
  for (;;) {
    const lines = linesOf(page);
    if (lines !== '') yield lines;
    if (page.nextPageToken === '') return;
    page = await read(page.nextPageToken);
  }
}
