import { toJson } from '@bufbuild/protobuf';
import type {
  DescEnum,
  DescField,
  DescMessage,
  JsonObject,
  JsonValue,
  MessageShape,
} from '@bufbuild/protobuf';
import { isReflectMessage, reflect } from '@bufbuild/protobuf/reflect';
import type { ReflectMessage } from '@bufbuild/protobuf/reflect';

/** An enum's value as a lower-case word: ORDER_STATUS_PENDING is `pending`. Undefined for UNSPECIFIED. */
export function wordOf(description: DescEnum, value: number): string | undefined {
  if (value === 0) return undefined;
  return description.value[value]?.localName.toLowerCase() ?? String(value);
}

/** The words of an enum, without UNSPECIFIED. */
export const wordsOf = (description: DescEnum): readonly string[] =>
  description.values.filter(({ number }) => number !== 0).map(({ localName }) => localName.toLowerCase());

/** The enum's value of a word, ignoring case; undefined when there is none. */
export const valueOf = (description: DescEnum, word: string): number | undefined =>
  description.values.find(
    ({ number, localName }) => number !== 0 && localName.toLowerCase() === word.toLowerCase(),
  )?.number;

/**
 * A message for scripts: ProtoJSON with the contract's field names and two differences. Enums are lower-case words. Every
 * field is present, and null when it has no value.
 */
export const plainJson = <D extends DescMessage>(description: D, message: MessageShape<D>): JsonObject =>
  messageJson(reflect(description, message));

const isWellKnown = ({ typeName }: DescMessage): boolean => typeName.startsWith('google.protobuf.');

function messageJson(message: ReflectMessage): JsonObject {
  const json = toJson(message.desc, message.message, { useProtoFieldName: true, alwaysEmitImplicit: true });
  const values = json !== null && typeof json === 'object' && !Array.isArray(json) ? json : {};
  return Object.fromEntries(
    message.fields.map((field) => [field.name, fieldJson(message, field, values[field.name] ?? null)]),
  );
}

function fieldJson(message: ReflectMessage, field: DescField, json: JsonValue): JsonValue {
  if (field.fieldKind === 'enum') return wordOf(field.enum, message.get(field)) ?? null;
  if (field.fieldKind === 'message' && message.isSet(field) && !isWellKnown(field.message))
    return messageJson(message.get(field));
  if (field.fieldKind === 'list' && field.listKind === 'enum')
    return Array.from(message.get(field), (value) =>
      typeof value === 'number' ? (wordOf(field.enum, value) ?? null) : null,
    );
  if (field.fieldKind === 'list' && field.listKind === 'message' && !isWellKnown(field.message))
    return Array.from(message.get(field), (item) =>
      isReflectMessage(item, field.message) ? messageJson(item) : null,
    );
  return json;
}
