import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { publicId } from '../../contract/public-id.ts';
import {
  WalletAccountCheck as CheckNumber,
  WalletAccountState as StateNumber,
} from '../../gen/gatehouse/v1/merchant_wallet_service_pb.js';
import type { WalletAccountCheck, WalletAccountState } from '../domain/wallet-account.ts';
import { environmentNumbers } from '../rpc/environment.ts';
import type { AccountField } from './account-form.ts';
import type { WalletAccount } from './wallet-account.ts';

const states = {
  NEXT: StateNumber.NEXT,
  CURRENT: StateNumber.CURRENT,
  RETIRED: StateNumber.RETIRED,
} as const satisfies Record<WalletAccountState, StateNumber>;

const checks = {
  WAITING: CheckNumber.WAITING,
  ACCEPTED: CheckNumber.ACCEPTED,
  REFUSED: CheckNumber.REFUSED,
  UNKNOWN: CheckNumber.UNKNOWN,
} as const satisfies Record<WalletAccountCheck, CheckNumber>;

/** The result of a check in a request; undefined for WAITING and for a number that this version does not know. */
export const checkResultOf = (number: CheckNumber): Exclude<WalletAccountCheck, 'WAITING'> | undefined =>
  (['ACCEPTED', 'REFUSED', 'UNKNOWN'] as const).find((word) => checks[word] === number);

/** An account without its secrets. */
export function accountMessage(account: WalletAccount) {
  const { checkedAt, createdAt, promotedAt } = account;
  return {
    walletAccountId: publicId('wac', account.id),
    merchantId: publicId('mer', account.merchantId),
    environment: environmentNumbers[account.environment],
    wallet: account.wallet,
    state: states[account.state],
    values: [
      ...Object.entries(account.openValues).map(([name, value]) => ({ name, value, ending: '' })),
      ...Object.entries(account.endings).map(([name, ending]) => ({ name, value: '', ending })),
    ].sort((a, b) => (a.name < b.name ? -1 : 1)),
    check: checks[account.checkResult],
    checkDetail: account.checkDetail,
    createTime: timestampFromDate(createdAt),
    ...(checkedAt == null ? {} : { checkTime: timestampFromDate(checkedAt) }),
    ...(promotedAt == null ? {} : { promoteTime: timestampFromDate(promotedAt) }),
  };
}

export const fieldMessage = ({ name, isSecret, description, choices }: AccountField) => ({
  name,
  secret: isSecret,
  description,
  choices: [...choices],
});
