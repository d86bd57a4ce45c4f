import type { JsonObject } from '@bufbuild/protobuf';

/** The outcome of the recording, for the report. */
export interface Recording {
  readonly note: string;
  readonly json: JsonObject;
  /** The exit code if the results could not be recorded. */
  readonly exitCode?: number;
}
