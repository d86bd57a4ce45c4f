/**
 * The version of the merchant API's OpenAPI document, and of the client libraries in `clients`. They are released together:
 * clients/CHANGELOG.md says what each version contains. The first number is the `v1` of the paths.
 */
export const merchantApiVersion = '1.0.0';
