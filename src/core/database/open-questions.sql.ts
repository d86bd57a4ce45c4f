/** The questions that only an operator can answer after a restore. Each field is the start of the lost time; null when the question was answered. */
export interface OpenQuestions {
  readonly erasuresLostFrom: Date | null;
  readonly accountsLostFrom: Date | null;
  readonly merchantsLostFrom: Date | null;
}

/**
 * The recoveries of this and earlier restores whose question is open. A recovery that was replaced before it had finished is left out, because the
 * later recovery asks about the lost time of both.
 */
const asking = '(r.finished_at is null or cardinality(r.closed) = 0)';

/** Open if nothing names all accounts of the lost time. */
export const asksAccounts = `${asking} and r.accounts_accepted_by = '' and r.stream in ('PARTIAL', 'LOST')`;

/** Open if a merchant that the events name is missing, if the events have gaps, or if they were not read yet. */
export const asksMerchants = `${asking} and r.merchants_accepted_by = '' and (r.stream <> 'COMPLETE' or exists (
  select from core.recovery_merchants l where l.recovery_id = r.id
    and not exists (select from core.merchants m where m.id = l.merchant_id)
))`;

/** Gives one row of `OpenQuestions`. */
export const openQuestions = `
select (select min(lost_from) from core.recoveries where erasures_accepted_by = '') as "erasuresLostFrom",
  (select min(r.lost_from) from core.recoveries r where ${asksAccounts}) as "accountsLostFrom",
  (select min(r.lost_from) from core.recoveries r where ${asksMerchants}) as "merchantsLostFrom"`;
