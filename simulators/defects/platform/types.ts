import type { PlatformBehaviour } from '../../platform/behaviour.ts';

/** A named deviation from the specification: what the suites must catch. */
export interface PlatformDefect {
  name: string;
  side: 'platform';
  /** What is wrong, in one sentence. */
  summary: string;
  /** Ids of the requirements that it breaks. */
  breaks: readonly string[];
  behaviour(right: PlatformBehaviour): PlatformBehaviour;
}
