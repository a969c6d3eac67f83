import type { PlatformBehaviour } from '../../platform/behaviour.ts';

/** Another legal choice where the specification is silent: what no suite may turn into a failed MUST. */
export interface PlatformVariant {
  name: string;
  side: 'platform';
  /** The choice, in one sentence. */
  summary: string;
  behaviour(right: PlatformBehaviour): PlatformBehaviour;
}
