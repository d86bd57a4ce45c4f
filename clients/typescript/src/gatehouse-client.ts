export * from './errors.ts';
export { Gatehouse } from './gatehouse.ts';
export type { CreateOptions, WaitOptions } from './gatehouse.ts';
export type { CallOptions } from './http.ts';
export type { GatehouseSettings } from './settings.ts';
export type * from './types.ts';
export { version } from './version.ts';
export { verifySvcSignature, verifyWebhook } from './webhooks.ts';
export type { ReceivedWebhook, WebhookHeaders } from './webhooks.ts';
