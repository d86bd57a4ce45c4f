/** The requests of merchants. */
export const merchantApi = 'gatehouse_http_request_duration_seconds_count{listener=~"sandbox|production"}';
/** The share of a counter in another one. */
export const share = (part: string, all: string): string => `sum(rate(${part}[5m])) / sum(rate(${all}[5m]))`;
/** The same for a panel: 0 while the part has no series. Without it, the panel of a gateway on which nothing fails shows "No data". */
export const shareOrZero = (part: string, all: string): string =>
  `(sum(rate(${part}[5m])) or vector(0)) / sum(rate(${all}[5m]))`;
/** Only those answered with 5xx. */
export const failed = (of: string): string => of.replace('}', ',status=~"5.."}');
/**
 * A condition that lasts for hours, as the latest value of a metric. Without it, one reading that fails, or the restart of a process,
 * ends the condition, and the time of its alert begins again.
 */
export const latest = (metric: string): string => `last_over_time(${metric}[15m])`;
