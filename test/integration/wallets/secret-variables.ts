/** Settings of a wallet as an operator writes them for a process: secrets are in variables, which begin with `prefix`. */
export function secretVariables<Settings extends object>(
  prefix: string,
  settings: Settings,
  secrets: readonly (keyof Settings & string)[],
): { readonly settings: object; readonly variables: Readonly<Record<string, string>> } {
  const nameOf = (field: string): string => `${prefix}_${field.toUpperCase()}`;
  return {
    settings: {
      ...settings,
      ...Object.fromEntries(secrets.map((field) => [field, { secret: nameOf(field) }])),
    },
    variables: Object.fromEntries(secrets.map((field) => [nameOf(field), String(settings[field])])),
  };
}
