import { type Issue, requiredIssue } from './issue.ts';
import { type Result, err, ok } from './result.ts';

export const OrderNumber = {
  /**
   * Reads a merchant's own reference of an order, kept exactly as sent and compared case-sensitively.
   * Issue: empty, or not 1 to 64 printable ASCII characters without spaces.
   */
  parse(text: string, field: string): Result<string, Issue> {
    if (text === '') return err({ field, issue: requiredIssue });
    if (!/^[\x21-\x7e]{1,64}$/.test(text)) {
      return err({ field, issue: 'must be 1 to 64 printable ASCII characters without spaces' });
    }
    return ok(text);
  },
};
