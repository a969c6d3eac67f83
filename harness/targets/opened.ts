/** An opened target as a suite is run against it, from a program or from vitest. */

import type { Recorder } from '../client/recorder.ts';
import type { Redactor } from '../client/redact.ts';
import type { Capability, TargetDescription } from '../runner/types.ts';

export interface Opened<Context> extends AsyncDisposable {
  readonly description: TargetDescription;
  readonly capabilities: ReadonlySet<Capability>;
  /** Why nothing can be decided; absent when it answers. */
  readonly unreachable: string | undefined;
  /** What it wrote to standard error, when Muster started it. */
  diagnostics(): string;
  /** What one check is given. */
  context(recorder: Recorder, signal: AbortSignal): Context;
  /** Keeps its secrets out of reports. */
  readonly redactor?: Redactor;
}
