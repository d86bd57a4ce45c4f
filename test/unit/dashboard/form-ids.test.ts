import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const folder = join(import.meta.dirname, '../../../src/dashboard/templates');

/** The forms that change something, by template and action. */
const formsWithoutId = globSync('**/*.eta', { cwd: folder }).flatMap((template) =>
  readFileSync(join(folder, template), 'utf8')
    .split('<form')
    .slice(1)
    .map((text) => text.split('</form>', 1)[0] ?? '')
    .filter((form) => form.includes('method="post"') && !form.includes("include('/parts/form-id', it)"))
    .map((form) => `${template} ${/action="([^"]*)"/.exec(form)?.[1] ?? ''}`),
);

/** Forms of people without a session. The links and codes in them work once. */
const withoutSession =
  /^(?:invitation\/|sign-in\/(?:sign-in|code|carry-on|confirm)\.eta |layout\.eta \/sign-out)/;
/** A second copy finds the state that the first one has set, or the number that it has used. */
const setsState =
  /\/(?:profile|off|end|refunds|revoke|promote|promote-secret|resume|pause|delete|terms|confirm|withdraw|retry|take-back|role|remove|cancel|switch|approve|decline)$|<%= action %>$|<%= each\.action %>$/;
const changesOrQuestions = new Set([
  'developers/webhook-endpoint.eta <%= view.self %>',
  'refunds/approval.eta <%= view.path %>',
  // Each has a unique number.
  'payments/new-link.eta <%= view.path %>',
  'refunds/confirm.eta <%= view.path %>',
  // These only show or ask something.
  'operator/personal-data.eta <%= view.path %>/check',
  'refunds/form.eta <%= view.path %>/check',
  'payments/order.eta <%= view.path %>/query-wallet',
  'refunds/refund.eta <%= view.path %>/query-wallet',
  'wallets/accounts.eta <%= view.path %>/accounts/<%= row.id %>/check',
]);

test('a form of the dashboard has an id, unless a second copy has no further effect', () => {
  expect(formsWithoutId.length).toBeGreaterThan(0);
  expect(
    formsWithoutId.filter(
      (each) => !withoutSession.test(each) && !setsState.test(each) && !changesOrQuestions.has(each),
    ),
  ).toEqual([]);
});
