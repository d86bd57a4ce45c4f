/** The checks of core on the operators' overview, by their subjects. */
export const ofChecks = {
  database: {
    name: 'Database',
    good: 'It answers, and commits are durable.',
    bad: 'It does not answer, or its settings are wrong. Check that PostgreSQL runs, and read the details.',
  },
  databasePool: {
    name: 'Database connections',
    good: 'Connections are available.',
    bad: 'This core gets no connections. Check that PostgreSQL runs and can be reached.',
  },
  migrations: {
    name: 'Migrations',
    good: 'The schema is up to date.',
    bad: 'Migrations are not applied. Restart core, which applies them.',
  },
  clock: {
    name: 'Clock',
    good: 'The clocks of core and database agree.',
    bad: 'The clocks of core and database differ. Synchronise both machines with NTP.',
  },
  eventOrder: {
    name: 'Event order',
    good: 'Every event belongs to this database server.',
    bad: 'Events from another database server are not published. To see how to adopt them, run gatehouse doctor.',
  },
  orderHistories: {
    name: 'Order histories',
    good: 'Orders and their events agree.',
    bad: 'Orders and their events disagree, because the tables were changed without Gatehouse. Compare each order with its events and with the wallet.',
  },
  money: {
    name: 'Money',
    good: 'The money of orders agrees with payments, refunds and events.',
    bad: 'The money of orders disagrees with payments, refunds or events, because the tables were changed without Gatehouse. Compare each order with its events and with the wallet’s statement.',
  },
  masterKey: {
    name: 'Master key',
    good: 'The master key is that of the database.',
    bad: 'The database was used with another master key, so this gateway takes no payments. Set GATEHOUSE_MASTER_KEY to the key of the database, and restart core.',
  },
  recovery: {
    name: 'Recovery',
    good: 'No recovery holds back payments.',
    bad: 'The database was restored, and a step is missing. See it on the command line: gatehouse restore status',
  },
  eventRelay: {
    name: 'Event relay',
    good: 'Events are published in time.',
    bad: 'Events are published late. Check the broker. No event is lost.',
  },
  strayPayments: {
    name: 'Stray payments',
    good: 'No wallet refuses a reversal.',
    bad: 'A wallet refuses reversals. Resolve each refusal with the wallet, then retry the reversal.',
  },
  reconciliation: {
    name: 'Reconciliation',
    good: 'No differences in the last 7 days.',
    bad: 'Days have differences, could not be read, or are late.',
  },
  broker: {
    name: 'Broker',
    good: 'Connected.',
    bad: 'Not connected. Check nats-server. Payments continue, and events are late.',
  },
  unsettled: {
    name: 'Unsettled money',
    good: 'No money waits for a person.',
    bad: 'Payments, refunds or stray payments wait for a person. Ask the wallet, then settle them by hand.',
  },
  wallets: {
    name: 'Wallets',
    good: 'The file of wallets has every wallet that work waits for.',
    bad: 'Payments, refunds or reversals wait for wallets that the file of wallets lacks. Put these wallets back, and restart core and wallets.',
  },
  walletAccounts: {
    name: 'Wallet accounts',
    good: "Core can decrypt merchants' own wallet accounts.",
    bad: "Payments, refunds or reversals wait, because core cannot decrypt merchants' own wallet accounts. Restore their keys.",
  },
};
