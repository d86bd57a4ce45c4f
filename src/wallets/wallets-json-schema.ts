import { walletsSchema } from '../contract/wallets-file/wallets-schema.ts';
import type { ConnectorKind } from './connector/connector-kind.ts';
import { asConfigured } from './wallet-settings.ts';

/** The JSON Schema of the file of wallets, with the settings of each connector, for editors. */
export function walletsJsonSchema(kinds: readonly ConnectorKind[]): Readonly<Record<string, unknown>> {
  const schema = structuredClone(walletsSchema);
  const wallet = schema.properties.wallets.items;
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'The wallets of a Gatehouse',
    ...schema,
    properties: {
      ...schema.properties,
      wallets: {
        ...schema.properties.wallets,
        items: {
          ...wallet,
          properties: {
            ...wallet.properties,
            connector: { ...wallet.properties.connector, enum: kinds.map(({ name }) => name) },
          },
          allOf: kinds.map((kind) => {
            const settings = { properties: { settings: asConfigured(kind.settings) } };
            return {
              if: { properties: { connector: { const: kind.name } } },
              then: {
                properties: { environments: { properties: { sandbox: settings, production: settings } } },
              },
            };
          }),
        },
      },
    },
  };
}
