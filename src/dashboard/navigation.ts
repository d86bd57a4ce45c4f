import type { EnvironmentName, PageMerchant } from './access/page-context.ts';
import type { shell } from './language/english/shell.ts';
import { isAtLeast } from './access/dashboard-user.ts';
import type { Role, DashboardUser } from './access/dashboard-user.ts';

type Words = typeof shell;
export type Area = keyof Words['nav'];

interface Entry {
  readonly area: Area;
  readonly group: keyof Words['groups'] | undefined;
  /** The route of the area's first page. The menu shows the area if the route exists. */
  readonly route: string;
  /** The lowest role of a member that sees it. */
  readonly role?: Role;
}

const inEnvironment = '/m/:merchantId/:environment';

/** The menu of a merchant's pages, in order. */
const merchantEntries: readonly Entry[] = [
  { area: 'home', group: undefined, route: inEnvironment },
  { area: 'orders', group: 'payments', route: `${inEnvironment}/orders` },
  { area: 'refunds', group: 'payments', route: `${inEnvironment}/refunds` },
  { area: 'links', group: 'payments', route: `${inEnvironment}/links` },
  { area: 'wallets', group: 'payments', route: `${inEnvironment}/wallets` },
  { area: 'quickStart', group: 'developers', route: `${inEnvironment}/quick-start` },
  { area: 'keys', group: 'developers', route: `${inEnvironment}/keys`, role: 'developer' },
  { area: 'webhooks', group: 'developers', route: `${inEnvironment}/webhooks`, role: 'developer' },
  { area: 'requests', group: 'developers', route: `${inEnvironment}/requests`, role: 'developer' },
  { area: 'team', group: 'organisation', route: '/m/:merchantId/team', role: 'owner' },
  { area: 'refundApproval', group: 'organisation', route: '/m/:merchantId/refund-approval', role: 'owner' },
  { area: 'audit', group: 'organisation', route: '/m/:merchantId/audit', role: 'owner' },
];

const operatorEntries: readonly Entry[] = [
  { area: 'operator', group: undefined, route: '/operator' },
  { area: 'operatorMerchants', group: undefined, route: '/operator/merchants' },
  { area: 'operatorOrders', group: undefined, route: '/operator/orders' },
  { area: 'operatorWallets', group: undefined, route: '/operator/wallets' },
  { area: 'operatorStrayPayments', group: undefined, route: '/operator/stray-payments' },
  { area: 'operatorSettlements', group: undefined, route: '/operator/settlements' },
  { area: 'operatorReconciliations', group: undefined, route: '/operator/reconciliations' },
  { area: 'operatorPersonalData', group: undefined, route: '/operator/personal-data' },
  { area: 'operatorPipeline', group: undefined, route: '/operator/pipeline' },
  { area: 'operatorEndpoints', group: undefined, route: '/operator/endpoints' },
  { area: 'operatorUsers', group: undefined, route: '/operator/users' },
  { area: 'operatorAudit', group: undefined, route: '/operator/audit' },
];

export interface NavigationItem {
  readonly area: Area;
  readonly href: string;
  readonly text: string;
  readonly current: boolean;
}

export interface Navigation {
  readonly groups: readonly {
    readonly title: string | undefined;
    readonly items: readonly NavigationItem[];
  }[];
  /** The same area in each environment; none outside of a merchant's pages. */
  readonly environments: readonly {
    readonly name: EnvironmentName;
    readonly text: string;
    readonly href: string;
    readonly current: boolean;
  }[];
  readonly merchants: readonly { readonly name: string; readonly href: string; readonly current: boolean }[];
}

/** Whether a GET route exists. */
export type HasPage = (route: string) => boolean;

const hrefOf = (route: string, merchantId: string, environment: EnvironmentName): string =>
  route.replace(':merchantId', merchantId).replace(':environment', environment);

/** The first existing page of a merchant. */
export function merchantStart(merchantId: string, environment: EnvironmentName, hasPage: HasPage): string {
  const first = merchantEntries.find(({ route }) => hasPage(route));
  return hrefOf(first?.route ?? '/', merchantId, environment);
}

/** The links of the page's frame. */
export function navigationOf(
  user: DashboardUser,
  pageMerchant: PageMerchant | undefined,
  area: Area | undefined,
  words: Words,
  hasPage: HasPage,
): Navigation {
  // Pages without an environment link to the sandbox, so that no careless click changes real data.
  const environment = pageMerchant?.environment ?? 'sandbox';
  const entries = pageMerchant === undefined ? (user.isOperator ? operatorEntries : []) : merchantEntries;
  const shown = entries.filter(
    ({ route, role }) =>
      hasPage(route) &&
      (role === undefined ||
        pageMerchant === undefined ||
        pageMerchant.role === 'operator' ||
        isAtLeast(pageMerchant.role, role)),
  );
  const groups = new Map<string | undefined, NavigationItem[]>();
  for (const entry of shown) {
    const title = entry.group === undefined ? undefined : words.groups[entry.group];
    const items = groups.get(title) ?? [];
    groups.set(title, items);
    items.push({
      area: entry.area,
      href: hrefOf(entry.route, pageMerchant?.merchantId ?? '', environment),
      text: words.nav[entry.area],
      current: entry.area === area,
    });
  }
  const here = shown.find((entry) => entry.area === area && entry.route.includes(':environment'));
  const home = pageMerchant === undefined ? undefined : (here?.route ?? inEnvironment);
  return {
    groups: [...groups].map(([title, items]) => ({ title, items })),
    environments:
      pageMerchant === undefined || home === undefined
        ? []
        : (['sandbox', 'production'] as const).map((name) => ({
            name,
            text: words.environments[name],
            href: hasPage(home)
              ? hrefOf(home, pageMerchant.merchantId, name)
              : merchantStart(pageMerchant.merchantId, name, hasPage),
            current: name === pageMerchant.environment,
          })),
    merchants: user.memberships.map(({ merchantId, merchantName }) => ({
      name: merchantName,
      href: merchantStart(merchantId, environment, hasPage),
      current: merchantId === pageMerchant?.merchantId,
    })),
  };
}
