/** The version of this package, and of the OpenAPI document that it was written for. */
export const version = '1.0.0';
