/** An answer of M-Pesa that refuses a request, or fails. */
export class MpesaRefusal extends Error {
  override readonly name = 'MpesaRefusal';
  readonly status: number;
  readonly errorCode: string;

  constructor(status: number, errorCode: string, message: string) {
    super(message);
    this.status = status;
    this.errorCode = errorCode;
  }
}

/** The error object of M-Pesa. */
export const errorBody = (requestId: string, errorCode: string, errorMessage: string): object => ({
  requestId,
  errorCode,
  errorMessage,
});

/** The error object of the gateway in front of M-Pesa. */
export const spikeArrest: object = {
  fault: {
    faultstring:
      'Spike arrest violation. Allowed rate : MessageRate{messagesPerPeriod=5, periodInMicroseconds=1000000}',
    detail: { errorcode: 'policies.ratelimit.SpikeArrestViolation' },
  },
};

export const badField = (field: string): MpesaRefusal =>
  new MpesaRefusal(400, '400.002.02', `Bad Request - Invalid ${field}`);

export const invalidToken = (): MpesaRefusal => new MpesaRefusal(404, '404.001.03', 'Invalid Access Token');
