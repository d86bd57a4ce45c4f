// Who may import whom. Each rule is violated on purpose, and seen caught, in test/unit/repository/import-rules.test.ts.

/** A process of its own that is a client of core: it shares code with no other process. */
const EDGES = 'rest-facade|checkout|wallets|webhooks|dashboard|cli';

/** The doors of core's capabilities: the only files that another capability may import. */
const DOORS = [
  'accounts/acting-operator',
  'accounts/require-operator',
  'audit/find-actor-emails',
  'audit/record-audit',
  'audit/record-entry.sql',
  'audit/event-commitment',
  'audit/erasure-seal',
  'events/account-changes',
  'events/changed-orders',
  'events/follow-events',
  'events/relay-lag',
  'events/event-cursor',
  'events/event-subject',
  'events/relay-cursor.sql',
  'merchants/find-merchant',
  'payments/attempts/attempt-work-row',
  'payments/changes/account-timeline',
  'payments/changes/lost-order',
  'payments/changes/open-payments.sql',
  'payments/changes/rebuild-orders',
  'payments/changes/refund-row',
  'payments/changes/reversal-row',
  'payments/settlements/unsettled.sql',
  'payments/work-without-wallet.sql',
].join('|');

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    {
      name: 'domain-imports-nothing',
      comment:
        'The rules of the business are pure: no I/O, no npm package, no node: module, nothing of ours.',
      severity: 'error',
      from: { path: '^src/(core|webhooks)/domain/' },
      to: { pathNot: '^src/$1/domain/' },
    },
    {
      name: 'core-imports-its-layers',
      comment:
        "Core uses its own folders, gen, contract and platform; the merchants' JSON is none of its business.",
      severity: 'error',
      from: { path: '^src/core/(?!domain/)' },
      to: { path: '^src/', pathNot: '^src/(core|gen|contract|platform)/' },
    },
    {
      name: 'shared-folders-import-no-capability',
      comment:
        'Capabilities use the database and rpc folders; the other way round would tie every capability to every other.',
      severity: 'error',
      from: { path: '^src/core/(database|rpc)/' },
      to: { path: '^src/core/', pathNot: '^src/core/(database|domain|rpc)/' },
    },
    {
      name: 'capability-through-its-door',
      comment:
        'A capability of core reaches another through a file that DOORS lists: never its store or its RPCs.',
      severity: 'error',
      from: { path: '^src/core/(?!domain/|database/|rpc/)([^/]+)/' },
      to: {
        path: '^src/core/',
        pathNot: ['^src/core/($1|domain|database|rpc)/', `^src/core/(${DOORS})\\.ts$`],
      },
    },
    {
      name: 'orders-change-in-one-place',
      comment:
        'Only change-orders.ts and add-orders.ts use these statements: they also write the events, and notify the waiting processes. Recovery and erasure write rows of orders without them.',
      severity: 'error',
      from: { pathNot: '^src/core/payments/changes/(change|add)-orders\\.ts$' },
      to: {
        path: '^src/core/payments/changes/((write|insert)-orders\\.sql|write-latest-attempt)\\.ts$',
      },
    },
    {
      name: 'edge-imports-shared-folders',
      comment:
        'An edge process talks to core and to other edges over RPC: it imports gen, contract, platform and merchant-api.',
      severity: 'error',
      from: { path: `^src/(${EDGES})/` },
      to: { path: '^src/', pathNot: '^src/($1|gen|contract|platform|merchant-api)/' },
    },
    {
      name: 'simulator-imports-platform',
      comment: "The simulated wallet is somebody else's system: sharing our code would share our mistakes.",
      severity: 'error',
      from: { path: '^src/wallet-simulator/' },
      to: { path: '^src/', pathNot: '^src/(wallet-simulator|platform)/' },
    },
    {
      name: 'platform-knows-no-payments',
      comment:
        'What any server needs knows nothing of payments: of gen it uses what Google and gRPC have written.',
      severity: 'error',
      from: { path: '^src/platform/' },
      to: { path: '^src/', pathNot: '^src/(platform/|gen/(google|grpc|health)/)' },
    },
    {
      name: 'contract-imports-gen-and-platform',
      comment: 'What all processes agree on can depend on none of them.',
      severity: 'error',
      from: { path: '^src/contract/' },
      to: { path: '^src/', pathNot: '^src/(contract|gen|platform)/' },
    },
    {
      name: 'merchant-api-imports-contract',
      comment:
        'The public JSON contract depends on the internal one only, so that every process can share it.',
      severity: 'error',
      from: { path: '^src/merchant-api/' },
      to: { path: '^src/', pathNot: '^src/(merchant-api|contract|gen)/' },
    },
    {
      name: 'gen-imports-npm',
      comment: 'Generated code comes out of proto/ alone.',
      severity: 'error',
      from: { path: '^src/gen/' },
      to: { path: '^src/', pathNot: '^src/gen/' },
    },
    {
      name: 'main-is-imported-by-nobody',
      comment:
        'A composition root is an end point. Tests may import it, and so may the scripts and benchmarks that npm runs.',
      severity: 'error',
      from: { pathNot: '^(src/main|test|scripts|bench|examples)/' },
      to: { path: '^src/main/' },
    },
    {
      name: 'src-stands-alone',
      comment: 'What runs in production imports nothing that is only there for development.',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(?!src/|node_modules/)[^/]+/', dependencyTypes: ['local'] },
    },
    {
      name: 'examples-import-gen',
      comment:
        'A reader copies an example to a project that has only the contract, and code generated from it.',
      severity: 'error',
      from: { path: '^examples/' },
      to: { path: '^(?!examples/|src/gen/|node_modules/)[^/]+/', dependencyTypes: ['local'] },
    },
    {
      name: 'clients-stand-alone',
      comment: 'A client library is published without the gateway, and has no dependencies.',
      severity: 'error',
      from: { path: '^clients/' },
      to: { pathNot: '^clients/' },
    },
    {
      name: 'nats-behind-platform',
      comment:
        'The broker is disposable and its client is replaceable: src/platform/nats is the only place that knows it.',
      severity: 'error',
      from: { pathNot: '^(src/platform/nats/|test/|examples/)' },
      to: { path: '^node_modules/(nats|@nats-io/[^/]+)/' },
    },
    {
      name: 'process-in-main',
      comment:
        "Settings, signals and exit are arguments everywhere else. share-of-time.ts uses only nextTick. (The global of that name is Oxlint's to see.)",
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(main/|platform/share-of-time\\.ts$)' },
      to: { path: '^(node:)?process$', dependencyTypes: ['core'] },
    },
    {
      name: 'no-circular',
      comment: 'Two files that need each other are one file, or miss a third.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-folder-cycle',
      comment:
        'Two folders that need each other are one folder, or miss a third, even when no two of their files do.',
      severity: 'error',
      scope: 'folder',
      from: { path: '^src/' },
      to: { circular: true },
    },
    {
      name: 'subfolder-imports-no-parent',
      comment:
        'A folder of core may use its subfolders. The other way round, the two would be a cycle, which no-folder-cycle does not see.',
      severity: 'error',
      from: { path: '^src/core/(.+)/[^/]+/[^/]+$' },
      to: { path: '^src/core/$1/[^/]+$' },
    },
    {
      name: 'no-unresolvable',
      comment:
        'The import leads nowhere: a moved file, a package not installed, or a missing .ts. Client libraries are installed elsewhere.',
      severity: 'error',
      from: { pathNot: '/client-libraries/flows-[^/]+[.]cjs$' },
      to: { couldNotResolve: true },
    },
    {
      name: 'no-undeclared-package',
      comment: 'A package that is there by chance, through another: name it in package.json.',
      severity: 'error',
      from: {},
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'no-dev-package-in-src',
      comment:
        'An installation without development packages would stop at this import. Types are erased, so they may.',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    },
  ],
  options: {
    doNotFollow: { path: ['^node_modules/'] },
    // What `npm pack` builds there.
    exclude: { path: ['^clients/typescript/dist/'] },
    // `import type` and imports that the compiler would drop count too.
    parser: 'tsc',
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    detectProcessBuiltinModuleCalls: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
      extensions: ['.ts', '.js', '.mjs', '.cjs', '.json', '.d.ts'],
    },
  },
};
